#include "base/signal.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace kcoral {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> wait_and_count(Signal& signal, int& count) {
    co_await signal.wait();
    ++count;
}

TEST(Signal, ResumesThoseWhoWaitAndNobodyLater) {
    asio::io_context io;
    Signal signal(io.get_executor());
    int resumed = 0;
    signal.notify();  // nobody heard it
    for (int i = 0; i < 2; ++i)
        asio::co_spawn(io, wait_and_count(signal, resumed), asio::detached);
    io.poll();
    EXPECT_EQ(resumed, 0);
    signal.notify();
    io.poll();
    EXPECT_EQ(resumed, 2);
}

TEST(Signal, ACancelledWaitThrowsAndOthersWaitOn) {
    asio::io_context io;
    Signal signal(io.get_executor());
    asio::cancellation_signal cancel;
    int resumed = 0;
    bool threw = false;
    auto done = [&](std::exception_ptr error) { threw = error != nullptr; };
    asio::co_spawn(io, wait_and_count(signal, resumed),
                   asio::bind_cancellation_slot(cancel.slot(), done));
    asio::co_spawn(io, wait_and_count(signal, resumed), asio::detached);
    io.poll();
    cancel.emit(asio::cancellation_type::terminal);
    io.poll();
    EXPECT_TRUE(threw);
    EXPECT_EQ(resumed, 0);
    signal.notify();
    io.poll();
    EXPECT_EQ(resumed, 1);
}

}  // namespace
}  // namespace kcoral
