// ConsoleObserver: the engine's events as lines on the console, and the one line that says the pool
// of workers is ready.
#pragma once

#include "engine/events.hpp"
#include "server/state.hpp"

namespace kcoral::server {

class ConsoleObserver final : public engine::Observer {
  public:
    explicit ConsoleObserver(State& state) : state_(state) {}

    void zygote_ready(const worker::ZygoteReady& zygote) override;
    void zygote_lost(const std::string& how) override;
    void worker_ready(const engine::WorkerId& worker) override;
    void worker_failed(const engine::WorkerId& worker, const std::string& how) override;
    void worker_retired(const engine::WorkerId& worker, engine::RetireReason reason) override;
    void request_routed(const std::string& request_id, const engine::WorkerId& worker) override;

  private:
    State& state_;
    bool pool_ready_ = false;
};

}  // namespace kcoral::server
