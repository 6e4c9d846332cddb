// Deadline: calls back when a point in time passes that may be moved often and cheaply.
//
// Moving it later costs an assignment: the one timer below fires at the old time, sees the new one
// and waits again. Loop thread only.
#pragma once

#include "base/clock.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace kcoral::net {

class Deadline {
  public:
    Deadline(const boost::asio::any_io_executor& loop, std::function<void()> passed);
    ~Deadline();  // no call back after this
    Deadline(const Deadline&) = delete;

    void set(SteadyTime time);
    // No call back until it is set again.
    void clear();
    // The same, and no timer is left that would keep the loop from running out of work.
    void stop();

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace kcoral::net
