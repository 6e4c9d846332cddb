// State: what the routes of one running server share. Owned by serve(), used on the loop thread
// only.
#pragma once

#include "base/clock.hpp"
#include "base/uuid.hpp"
#include "blob/disk_cache.hpp"
#include "blob/memory_cache.hpp"
#include "blob/upload_budget.hpp"
#include "engine/engine.hpp"
#include "server/options.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <memory>
#include <string>

namespace kcoral::server {

struct State {
    explicit State(const ServerOptions& server_options);
    // Ends the pool's work first: it posts to the loop.
    ~State() { pool.join(); }

    const ServerOptions& options;
    const std::string instance_id = make_uuid();
    const WallTime started_at = std::chrono::system_clock::now();

    // Before the loop, as it must go after it: what a coroutine leaves behind may be freed on the
    // pool.
    boost::asio::thread_pool pool;
    boost::asio::io_context loop{1};
    blob::MemoryCache cache;
    blob::DiskCache disk_cache;
    blob::UploadBudget uploads;
    std::unique_ptr<engine::Engine> engine;

    bool sandboxed = false;                       // workers run in bubblewrap
    std::map<std::string, std::string> versions;  // of the workers' components, once they are known
};

}  // namespace kcoral::server
