// The engine's events on the console.
#include "server/console_observer.hpp"

#include "base/log.hpp"

namespace kcoral::server {

void ConsoleObserver::zygote_ready(const worker::ZygoteReady& zygote) {
    state_.versions = zygote.versions;
    for (const auto& preload : zygote.preloads) {
        if (preload.error.empty())
            log::info("preloaded module={} ms={:.0f}", preload.module, preload.milliseconds);
        else
            log::warning("preload_dropped module={} reason={}", preload.module, preload.error);
    }
}

void ConsoleObserver::zygote_lost(const std::string& how) {
    log::error("zygote_lost {}; another one is started", how);
}

void ConsoleObserver::worker_ready(const engine::WorkerId& worker) {
    log::debug("worker_ready seat={} generation={}", worker.seat, worker.generation);
    if (std::exchange(pool_ready_, true)) return;
    log::info("pool_ready sandbox={} mode=cpu target={{}} workers={}",
              state_.sandboxed ? "bubblewrap" : "none", state_.options.num_workers);
}

void ConsoleObserver::worker_failed(const engine::WorkerId& worker, const std::string& how) {
    log::error("worker_failed seat={} generation={} {}", worker.seat, worker.generation, how);
}

void ConsoleObserver::worker_retired(const engine::WorkerId& worker, engine::RetireReason reason) {
    log::debug("worker_retired seat={} generation={} reason={}", worker.seat, worker.generation,
               to_string(reason));
}

void ConsoleObserver::request_routed(const std::string& request_id,
                                     const engine::WorkerId& worker) {
    log::debug("request_routed id={} seat={} generation={}", request_id, worker.seat,
               worker.generation);
}

}  // namespace kcoral::server
