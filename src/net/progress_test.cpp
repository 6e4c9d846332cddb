// When a peer counts as too slow.
#include "net/progress.hpp"

#include <gtest/gtest.h>

namespace kcoral::net {
namespace {

using std::chrono::milliseconds;

TEST(Progress, CountsOnlyTimeSpentWaiting) {
    Progress progress({.timeout = milliseconds(100), .min_bytes = 10});
    SteadyTime now{};
    EXPECT_EQ(progress.deadline(now), now + milliseconds(100));
    progress.waited(milliseconds(30));
    EXPECT_EQ(progress.deadline(now + milliseconds(5000)), now + milliseconds(5070));
}

TEST(Progress, StartsAgainOnceEnoughHasMoved) {
    Progress progress({.timeout = milliseconds(100), .min_bytes = 10});
    SteadyTime now{};
    progress.waited(milliseconds(60));
    progress.moved(9);
    EXPECT_EQ(progress.deadline(now), now + milliseconds(40));
    progress.moved(1);
    EXPECT_EQ(progress.deadline(now), now + milliseconds(100));
    progress.waited(milliseconds(100));
    progress.moved(9);
    EXPECT_EQ(progress.deadline(now), now);
}

}  // namespace
}  // namespace kcoral::net
