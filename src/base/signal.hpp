// Signal: lets coroutines of one loop wait until somebody says that something has changed.
//
// It carries no state: a waiter checks its condition, waits, and checks again. Loop thread only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace kcoral {

class Signal {
  public:
    explicit Signal(boost::asio::any_io_executor loop)
        : timer_(std::move(loop), boost::asio::steady_timer::time_point::max()) {}

    // Resumes everybody who waits now.
    void notify() { timer_.cancel(); }

    // Throws operation_aborted when the waiting coroutine is cancelled, like every Asio wait.
    boost::asio::awaitable<void> wait() {
        namespace asio = boost::asio;
        // Both a notification and a cancellation end the timer's wait with an error.
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }

  private:
    boost::asio::steady_timer timer_;
};

}  // namespace kcoral
