// States and times of a request.
#include "engine/request_life.hpp"

namespace kcoral::engine {
namespace {

// A limit of hours or of a lifetime alike must not overflow the clock.
SteadyTime after(SteadyTime start, std::chrono::steady_clock::duration wait) {
    return wait > SteadyTime::max() - start ? SteadyTime::max() : start + wait;
}

}  // namespace

std::string_view to_string(Ending ending) {
    switch (ending) {
        case Ending::completed:
            return "completed";
        case Ending::failed:
            return "failed";
        case Ending::timeout:
            return "timeout";
        case Ending::busy:
            return "busy";
        case Ending::shutting_down:
            return "shutting_down";
        case Ending::cancelled:
            return "cancelled";
        case Ending::response_too_large:
            return "response_too_large";
        case Ending::engine_fault:
            return "engine_fault";
    }
    return "unknown";
}

RequestLife::RequestLife(SteadyTime submitted, std::chrono::steady_clock::duration wait_limit,
                         std::chrono::steady_clock::duration budget)
    : submitted_(submitted), wait_limit_(wait_limit), budget_(budget) {}

void RequestLife::assigned(SteadyTime now) {
    if (state_ != State::waiting) return;
    state_ = State::running;
    assigned_ = now;
    had_worker_ = true;
}

void RequestLife::instruction_started(std::uint32_t index) {
    if (state_ == State::running) instruction_ = index;
}

bool RequestLife::end(Ending ending, SteadyTime now) {
    if (state_ == State::ended) return false;
    state_ = State::ended;
    ending_ = ending;
    ended_ = now;
    return true;
}

SteadyTime RequestLife::deadline() const {
    return state_ == State::waiting ? after(submitted_, wait_limit_) : after(assigned_, budget_);
}

Timings RequestLife::timings(SteadyTime now) const {
    SteadyTime until = ended_.value_or(now);
    Timings timings;
    timings.queue_ms = to_milliseconds((had_worker_ ? assigned_ : until) - submitted_);
    if (had_worker_) timings.elapsed_ms = to_milliseconds(until - assigned_);
    return timings;
}

}  // namespace kcoral::engine
