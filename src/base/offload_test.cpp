#include "base/offload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>

namespace kcoral {
namespace {

namespace asio = boost::asio;

struct Offload : testing::Test {
    asio::thread_pool pool{1};
    asio::io_context io{1};
    ~Offload() override { pool.join(); }

    template <typename T>
    T run(asio::awaitable<T> task) {
        auto result = asio::co_spawn(io, std::move(task), asio::use_future);
        io.run();
        return result.get();
    }
};

asio::awaitable<std::unique_ptr<std::thread::id>> hop(asio::any_io_executor pool,
                                                      std::thread::id& after) {
    auto where = std::make_unique<std::thread::id>();
    auto work = [where = std::move(where)]() mutable {
        *where = std::this_thread::get_id();
        return std::move(where);
    };
    auto found = co_await offload(std::move(pool), std::move(work));
    after = std::this_thread::get_id();
    co_return found;
}

TEST_F(Offload, WorkRunsOnThePoolAndItsResultComesBackToTheLoop) {
    std::thread::id after;
    auto there = run(hop(pool.get_executor(), after));
    EXPECT_NE(*there, std::this_thread::get_id());
    EXPECT_EQ(after, std::this_thread::get_id());
}

TEST_F(Offload, WhatTheWorkThrowsIsThrownWhereItIsAwaited) {
    auto fails = [] {
        throw std::runtime_error("no");
        return 1;
    };
    EXPECT_THROW(run(offload(pool.get_executor(), fails)), std::runtime_error);
}

}  // namespace
}  // namespace kcoral
