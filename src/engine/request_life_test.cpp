#include "engine/request_life.hpp"

#include <gtest/gtest.h>

namespace kcoral::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime start{seconds(1000)};

TEST(RequestLife, TimeIsSplitIntoTheQueueAndTheWorker) {
    RequestLife life(start, seconds(10), seconds(5));
    life.assigned(start + milliseconds(30));
    EXPECT_TRUE(life.end(Ending::completed, start + milliseconds(100)));
    auto timings = life.timings(start + seconds(50));
    EXPECT_DOUBLE_EQ(timings.queue_ms, 30);
    EXPECT_DOUBLE_EQ(timings.elapsed_ms, 70);
}

TEST(RequestLife, ARequestWithoutAWorkerOnlyQueued) {
    RequestLife life(start, seconds(10), seconds(5));
    life.end(Ending::busy, start + seconds(10));
    EXPECT_DOUBLE_EQ(life.timings(start + seconds(99)).queue_ms, 10'000);
    EXPECT_DOUBLE_EQ(life.timings(start + seconds(99)).elapsed_ms, 0);
}

TEST(RequestLife, TheDeadlineIsThatOfItsPresentState) {
    RequestLife life(start, seconds(10), seconds(5));
    EXPECT_EQ(life.deadline(), start + seconds(10));
    life.assigned(start + seconds(8));
    EXPECT_EQ(life.deadline(), start + seconds(13));
}

TEST(RequestLife, ALimitWithoutEndDoesNotOverflow) {
    RequestLife life(start, std::chrono::steady_clock::duration::max(), seconds(5));
    EXPECT_EQ(life.deadline(), SteadyTime::max());
}

TEST(RequestLife, TheFirstCauseWins) {
    RequestLife life(start, seconds(10), seconds(5));
    life.assigned(start);
    EXPECT_TRUE(life.end(Ending::timeout, start + seconds(5)));
    EXPECT_FALSE(life.end(Ending::failed, start + seconds(6)));
    life.assigned(start + seconds(7));
    life.instruction_started(3);
    EXPECT_EQ(life.ending(), Ending::timeout);
    EXPECT_EQ(life.state(), RequestLife::State::ended);
    EXPECT_EQ(life.instruction(), std::nullopt);
    EXPECT_DOUBLE_EQ(life.timings(start + seconds(9)).elapsed_ms, 5'000);
}

}  // namespace
}  // namespace kcoral::engine
