// One timer that chases a moving deadline.
#include "net/deadline.hpp"

#include <boost/asio/steady_timer.hpp>

#include <utility>

namespace kcoral::net {

struct Deadline::State : std::enable_shared_from_this<State> {
    State(const boost::asio::any_io_executor& loop, std::function<void()> passed)
        : timer(loop), passed(std::move(passed)) {}

    boost::asio::steady_timer timer;
    std::function<void()> passed;             // null once the owner is gone
    SteadyTime time = SteadyTime::max();      // what the owner asked for
    SteadyTime fires_at = SteadyTime::max();  // what the timer waits for

    void wait() {
        fires_at = time;
        timer.expires_at(time);
        timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (!error) self->fired();
        });
    }

    void fired() {
        fires_at = SteadyTime::max();
        if (!passed || time == SteadyTime::max()) return;
        if (time > std::chrono::steady_clock::now()) return wait();
        time = SteadyTime::max();
        passed();
    }
};

Deadline::Deadline(const boost::asio::any_io_executor& loop, std::function<void()> passed)
    : state_(std::make_shared<State>(loop, std::move(passed))) {}

Deadline::~Deadline() {
    stop();
    state_->passed = nullptr;
}

void Deadline::set(SteadyTime time) {
    state_->time = time;
    if (time < state_->fires_at) state_->wait();
}

void Deadline::clear() {
    state_->time = SteadyTime::max();
}

void Deadline::stop() {
    clear();
    state_->fires_at = SteadyTime::max();
    state_->timer.cancel();
}

}  // namespace kcoral::net
