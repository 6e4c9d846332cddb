// RequestLife: one request's way from its submission to its ending, and where its time went.
//
// A pure machine: it is told what happened and when, and says whether that ended the request. The
// first cause wins; what happens after the ending changes nothing. Used on the loop thread only.
#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kcoral::engine {

enum class Ending {
    completed,           // every instruction ran
    failed,              // an instruction failed, its worker died, or it left processes behind
    timeout,             // the execution budget is used up
    busy,                // no worker in time
    shutting_down,       // the server stops and it had no worker yet
    cancelled,           // nobody waits for the answer any more
    response_too_large,  // its results passed the limit
    engine_fault,        // our own fault
};

std::string_view to_string(Ending ending);

struct Timings {
    double queue_ms = 0;    // waiting for a worker
    double elapsed_ms = 0;  // on the worker, lease waits included
    double lease_wait_ms = 0;
    double lease_held_ms = 0;
};

class RequestLife {
  public:
    enum class State { waiting, running, ended };

    RequestLife(SteadyTime submitted, std::chrono::steady_clock::duration wait_limit,
                std::chrono::steady_clock::duration budget);

    // A worker took it. No effect unless it was waiting.
    void assigned(SteadyTime now);
    void instruction_started(std::uint32_t index);
    // True when this is what ended it.
    bool end(Ending ending, SteadyTime now);

    State state() const { return state_; }
    std::optional<Ending> ending() const { return ending_; }
    // The instruction that runs now or ran last; nothing before the first one.
    std::optional<std::uint32_t> instruction() const { return instruction_; }
    // When its present state must be over: the wait for a worker, or the execution.
    SteadyTime deadline() const;
    Timings timings(SteadyTime now) const;

  private:
    SteadyTime submitted_;
    std::chrono::steady_clock::duration wait_limit_;
    std::chrono::steady_clock::duration budget_;
    State state_ = State::waiting;
    SteadyTime assigned_{};
    std::optional<SteadyTime> ended_;
    std::optional<Ending> ending_;
    std::optional<std::uint32_t> instruction_;
    bool had_worker_ = false;
};

}  // namespace kcoral::engine
