#include "sandbox/seat_entry.hpp"

#include "sandbox/privileges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::sandbox {
namespace {

using ::testing::ElementsAre;

TEST(MountsBelowTheWorkspace, AreThoseUnderWorkWithTheirNamesUnescaped) {
    EXPECT_THAT(
        mounts_below_workspace("22 27 0:21 / /proc rw - proc proc rw\n"
                               "23 27 254:0 /w0 /work rw - ext4 /dev/vda rw\n"
                               "24 27 254:0 /a /work/main/.venv ro master:1 - ext4 /dev/vda rw\n"
                               "25 27 254:0 /a /work/.kcoral/tmp/a\\040b ro - ext4 /dev/vda rw\n"
                               "26 27 254:0 /a /workspaces rw - ext4 /dev/vda rw\n"),
        ElementsAre("/work/main/.venv", "/work/.kcoral/tmp/a b"));
    EXPECT_TRUE(mounts_below_workspace("").empty());
}

TEST(SeatUsers, AreTakenFarFromThoseOfPeopleAndServices) {
    EXPECT_EQ(seat_users("         0          0 4294967295\n"), (UserRange{0x6b630000, 1 << 20}));
    EXPECT_EQ(seat_users("0 100000 65536\n"), (UserRange{30000, 30000}));
    EXPECT_EQ(seat_users("0 1000 1\n"), std::nullopt);
    EXPECT_EQ(seat_users(""), std::nullopt);
}

}  // namespace
}  // namespace kcoral::sandbox
