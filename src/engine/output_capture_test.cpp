#include "engine/output_capture.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <thread>

namespace kcoral::engine {
namespace {

struct OutputCaptureTest : testing::Test {
    boost::asio::io_context loop{1};
    Fd writer;
    void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }
    OutputCapture make() {
        auto pipe = make_pipe().value();
        writer = std::move(pipe.second);
        return OutputCapture::create(loop, std::move(pipe.first)).value();
    }
    void write(std::string_view text) { ASSERT_TRUE(write_all(writer, as_bytes(text))); }
};

TEST_F(OutputCaptureTest, BothSidesOfTheLimit) {
    auto capture = make();
    capture.begin(5);
    write("12345");
    auto exact = capture.take();
    EXPECT_EQ(exact.bytes, "12345");
    EXPECT_FALSE(exact.truncated());
    capture.begin(5);
    write("123456");
    auto over = capture.take();
    EXPECT_EQ(over.bytes, "12345");
    EXPECT_EQ(over.size, 6u);
    EXPECT_TRUE(over.truncated());
}

TEST_F(OutputCaptureTest, ALimitOfZeroKeepsNothingAndMissesNothing) {
    auto capture = make();
    capture.begin(0);
    write("something");
    auto nothing = capture.take();
    EXPECT_EQ(nothing.bytes, "");
    EXPECT_FALSE(nothing.truncated());
}

TEST_F(OutputCaptureTest, WhatAnEarlierRequestWroteIsNotTheNextOnes) {
    auto capture = make();
    capture.begin(100);
    write("late");
    capture.begin(100);
    write("mine");
    EXPECT_EQ(capture.take().bytes, "mine");
}

TEST_F(OutputCaptureTest, AFloodIsReadWithoutBlockingItsWriterOrKeepingIt) {
    auto capture = make();
    capture.begin(1000);
    constexpr std::size_t flood = 64 << 20;
    std::thread thread([&] {
        std::string block(1 << 20, 'x');
        for (std::size_t sent = 0; sent < flood; sent += block.size())
            if (!write_all(writer, as_bytes(block))) return;
        writer.reset();
    });
    loop.run();  // ends when the pipe has
    thread.join();
    auto output = capture.take();
    EXPECT_EQ(output.bytes.size(), 1000u);
    EXPECT_EQ(output.size, flood);
}

TEST_F(OutputCaptureTest, WhatWasWrittenBeforeTheWriterDiedIsThere) {
    auto capture = make();
    capture.begin(100);
    write("last words");
    writer.reset();
    EXPECT_EQ(capture.take().bytes, "last words");
}

TEST_F(OutputCaptureTest, DestroyingItEndsTheReading) {
    {
        auto capture = make();
    }
    loop.run();
    EXPECT_FALSE(write_all(writer, as_bytes("x")));
}

}  // namespace
}  // namespace kcoral::engine
