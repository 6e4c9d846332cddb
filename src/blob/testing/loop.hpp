// A loop and a pool for tests of coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <utility>

namespace kcoral::blob::testing {

struct Loop {
    boost::asio::thread_pool pool{2};
    boost::asio::io_context io{1};

    ~Loop() { pool.join(); }

    // Runs the loop until it has nothing left to do; what the task threw is thrown here.
    template <typename T>
    T run(boost::asio::awaitable<T> task) {
        auto result = boost::asio::co_spawn(io, std::move(task), boost::asio::use_future);
        run();
        return result.get();
    }
    void run() {
        io.restart();
        io.run();
    }
    // Does what can be done without waiting.
    void poll() {
        io.restart();
        io.poll();
    }
};

}  // namespace kcoral::blob::testing
