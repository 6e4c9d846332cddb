// The parts of a server, sized by its options.
#include "server/state.hpp"

#include <algorithm>
#include <thread>

namespace kcoral::server {
namespace {

unsigned pool_size(unsigned configured) {
    // Two at least: one blob is hashed while another's file work blocks.
    return configured ? configured : std::max(2u, std::thread::hardware_concurrency());
}

}  // namespace

State::State(const ServerOptions& server_options)
    : options(server_options),
      pool(pool_size(server_options.pool_threads)),
      cache({.capacity_bytes = server_options.cache_capacity_bytes}),
      disk_cache({.directory = server_options.disk_cache_dir,
                  .capacity_bytes = server_options.disk_cache_capacity_mbytes << 20},
                 pool.get_executor()),
      uploads(server_options.max_inflight_upload_bytes) {}

}  // namespace kcoral::server
