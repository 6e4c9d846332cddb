// run_closed_loop: N connections, each of which sends its next request when it has its answer.
#pragma once

#include "base/error.hpp"
#include "net/url.hpp"
#include "requests.hpp"

#include <chrono>
#include <cstdint>

namespace kcoral::bench {

struct LoadOptions {
    net::Url server;
    unsigned connections = 1;
    std::chrono::milliseconds warm_up{0};  // sent, not counted
    std::chrono::milliseconds time{1000};
};

struct LoadResult {
    std::uint64_t requests = 0;  // answered within the time
    double seconds = 0;
    double requests_per_second = 0;
    double megabytes_per_second = 0;  // of payload; 10^6 bytes
    double p50_ms = 0;
    double p90_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;
};

// Any error, and any answer that is not the right one, ends the run: a rate of wrong answers means
// nothing. Runs a loop of its own until all connections are done.
Result<LoadResult> run_closed_loop(const Exchange& exchange, const LoadOptions& options);

}  // namespace kcoral::bench
