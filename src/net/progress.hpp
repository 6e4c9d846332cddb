// Progress: tells a peer that is slow from one that stalls on purpose.
//
// Only time spent waiting for the peer counts: whenever a `timeout` of it has gone by, at least
// `min_bytes` must have moved.
#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstddef>

namespace kcoral::net {

struct ProgressLimit {
    std::chrono::milliseconds timeout;
    std::size_t min_bytes;
};

class Progress {
  public:
    explicit Progress(ProgressLimit limit) : limit_(limit) {}

    // Until when a wait that begins at `now` may last.
    SteadyTime deadline(SteadyTime now) const { return now + (limit_.timeout - waited_); }

    void waited(std::chrono::steady_clock::duration duration) { waited_ += duration; }

    void moved(std::size_t bytes) {
        bytes_ += bytes;
        if (bytes_ < limit_.min_bytes) return;
        bytes_ = 0;
        waited_ = {};
    }

  private:
    ProgressLimit limit_;
    std::chrono::steady_clock::duration waited_{};
    std::size_t bytes_ = 0;
};

}  // namespace kcoral::net
