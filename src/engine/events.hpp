// What happens in the engine, told to whoever keeps the log: every transition is one event.
#pragma once

#include "engine/request_life.hpp"
#include "engine/scheduler.hpp"
#include "worker/messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kcoral::engine {

struct WorkerId {
    std::string seat;  // "cpu/w0"
    std::uint64_t generation = 0;
    int pid = 0;  // of its init, as the zygote sees it
};

// All on the loop thread; an implementation must not call back into the engine.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void zygote_ready(const worker::ZygoteReady& zygote) = 0;
    virtual void zygote_lost(const std::string& how) = 0;
    virtual void worker_ready(const WorkerId& worker) = 0;
    // It could not be started, or died without having been told to.
    virtual void worker_failed(const WorkerId& worker, const std::string& how) = 0;
    virtual void worker_retired(const WorkerId& worker, RetireReason reason) = 0;
    virtual void request_routed(const std::string& request_id, const WorkerId& worker) = 0;
};

}  // namespace kcoral::engine
