// offload: work that would hold up the loop hops to a thread pool and comes back.
//
// The work goes over by value and its result comes back by value; the awaiting coroutine goes on
// where it was. What the work throws is thrown there. Cancelling the wait does not end the work:
// the coroutine goes on when the work is done. The pool must be joined before the loop's io_context
// is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace kcoral {

// `pool` may be a strand on a pool. `work` is called once, without arguments, and returns a value.
template <typename Executor, typename Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> offload(Executor pool, Work work) {
    namespace asio = boost::asio;
    using Value = std::invoke_result_t<Work&>;
    // The handler's second argument must be there even when the work threw.
    using Outcome = std::optional<Value>;
    auto start = [](auto handler, Executor target, Work task) {
        auto home = asio::make_work_guard(handler);
        auto run = [handler = std::move(handler), home = std::move(home),
                    task = std::move(task)]() mutable {
            Outcome value;
            std::exception_ptr thrown;
            try {
                value.emplace(task());
            } catch (...) {
                thrown = std::current_exception();
            }
            auto executor = home.get_executor();
            auto resume = [handler = std::move(handler), home = std::move(home), thrown,
                           value = std::move(value)]() mutable {
                home.reset();
                std::move(handler)(thrown, std::move(value));
            };
            asio::post(executor, std::move(resume));
        };
        asio::post(target, std::move(run));
    };
    using Signature = void(std::exception_ptr, Outcome);
    auto outcome = co_await asio::async_initiate<const asio::use_awaitable_t<>, Signature>(
        start, asio::use_awaitable, std::move(pool), std::move(work));
    co_return std::move(*outcome);
}

}  // namespace kcoral
