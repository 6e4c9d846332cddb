#include "sandbox/cgroup.hpp"

#include "base/remove_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace kcoral::sandbox {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A kernel made of plain files: what is written can be read, what the kernel would answer is not.
class FixtureCgroups : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(::mkdtemp(root_.data())); }
    void TearDown() override { ASSERT_TRUE(remove_tree(root_)); }

    void write(const std::string& path, const std::string& text) {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    std::string read(const std::string& path) { return read_file(root_ + path).value_or("?"); }
    std::string why_unavailable() {
        auto cgroups = SeatCgroups::create(root_);
        EXPECT_FALSE(cgroups);
        return cgroups ? "" : cgroups.error().message;
    }

    std::string root_ = "/tmp/kcoral-cgroup-XXXXXX";
};

TEST_F(FixtureCgroups, AreUnavailableWithTheReason) {
    write("/proc/self/cgroup", "4:memory:/a\n");
    EXPECT_THAT(why_unavailable(), HasSubstr("no cgroups of version 2"));
    write("/proc/self/cgroup", "4:memory:/a\n0::/\n");
    EXPECT_THAT(why_unavailable(), HasSubstr("not mounted"));
    write("/sys/fs/cgroup/cgroup.controllers", "cpu pids\n");
    EXPECT_THAT(why_unavailable(), HasSubstr("no memory controller"));
    write("/proc/self/cgroup", "0::/user.slice\n");
    write("/sys/fs/cgroup/user.slice/cgroup.controllers", "cpu memory pids\n");
    EXPECT_THAT(why_unavailable(), HasSubstr("not delegated"));
}

TEST_F(FixtureCgroups, PutTheServerIntoALeafAndLimitEachSeat) {
    write("/proc/self/cgroup", "0::/\n");
    write("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    auto cgroups = SeatCgroups::create(root_);
    ASSERT_TRUE(cgroups) << cgroups.error().message;
    EXPECT_EQ(read("/sys/fs/cgroup/kcoral.server/cgroup.procs"), "0");
    EXPECT_EQ(read("/sys/fs/cgroup/cgroup.subtree_control"), "+memory +pids");

    SeatLimits limits;
    limits.memory = 1000;
    limits.processes = 50;
    auto seat = cgroups->make("cpu-w0.1", limits);
    ASSERT_TRUE(seat) << seat.error().message;
    EXPECT_TRUE(seat->procs());
    EXPECT_EQ(read("/sys/fs/cgroup/cpu-w0.1/memory.max"), "1000");
    EXPECT_EQ(read("/sys/fs/cgroup/cpu-w0.1/memory.oom.group"), "1");
    EXPECT_EQ(read("/sys/fs/cgroup/cpu-w0.1/pids.max"), "50");
    EXPECT_FALSE(seat->ran_out_of_memory());
    write("/sys/fs/cgroup/cpu-w0.1/memory.events", "low 0\noom 3\noom_kill 0\n");
    EXPECT_FALSE(seat->ran_out_of_memory());
    write("/sys/fs/cgroup/cpu-w0.1/memory.events", "low 0\noom 3\noom_kill 1\n");
    EXPECT_TRUE(seat->ran_out_of_memory());
}

TEST_F(FixtureCgroups, AreFoundAgainFromTheServersLeaf) {
    write("/proc/self/cgroup", "0::/kcoral.server\n");
    write("/sys/fs/cgroup/cgroup.controllers", "memory pids\n");
    EXPECT_TRUE(SeatCgroups::create(root_));
}

}  // namespace
}  // namespace kcoral::sandbox
