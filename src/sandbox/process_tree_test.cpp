#include "sandbox/process_tree.hpp"

#include "base/remove_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kcoral::sandbox {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FixtureProc : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(::mkdtemp(proc_.data())); }
    void TearDown() override { ASSERT_TRUE(remove_tree(proc_)); }
    void add(int pid, const std::string& rest) {
        std::string folder = proc_ + "/" + std::to_string(pid);
        std::filesystem::create_directories(folder);
        std::ofstream(folder + "/stat") << pid << " " << rest << " 1 1 0 -1 4194304\n";
    }
    std::string proc_ = "/tmp/kcoral-proc-XXXXXX";
};

TEST_F(FixtureProc, ListsDescendantsOfInitButTheWorkerAndZombies) {
    add(1, "(systemd) S 0");
    add(10, "(kcoral-init) S 1");
    add(11, "(python) R 10");
    add(12, "(child) S 11");
    add(13, "(grandchild) T 12");
    add(14, "(orphan) S 10");
    add(15, "(dead) Z 11");
    add(16, "(deader) X 11");
    add(17, "(other) S 1");
    std::filesystem::create_directories(proc_ + "/self");
    std::ofstream(proc_ + "/version") << "Linux";
    auto left = ProcessTree(10, 11, proc_).left_over();
    ASSERT_TRUE(left);
    EXPECT_THAT(*left, UnorderedElementsAre(ProcessEntry{12, 11, 'S', "child"},
                                            ProcessEntry{13, 12, 'T', "grandchild"},
                                            ProcessEntry{14, 10, 'S', "orphan"}));
}

TEST_F(FixtureProc, ReadsNamesThatTryToLookLikeTheRest) {
    add(1, "(init) S 0");
    add(2, "(a) Z 99 (b) S 1");
    std::filesystem::create_directories(proc_ + "/3");
    std::ofstream(proc_ + "/3/stat") << "3 nonsense";
    auto processes = list_processes(proc_);
    ASSERT_TRUE(processes);
    EXPECT_THAT(*processes, UnorderedElementsAre(ProcessEntry{1, 0, 'S', "init"},
                                                 ProcessEntry{2, 1, 'S', "a) Z 99 (b"}));
}

TEST_F(FixtureProc, ListsMoreProcessesThanItExpected) {
    for (int pid = 1; pid <= 700; ++pid)
        add(pid, "(p) S 0");
    EXPECT_EQ(list_processes(proc_)->size(), 700U);
}

TEST(ProcessTree, IsAnErrorWithoutProc) {
    EXPECT_FALSE(ProcessTree(1, 2, "/no/such/proc").left_over());
}

TEST(ProcessTree, SeesTheRealProcesses) {
    auto processes = list_processes();
    ASSERT_TRUE(processes);
    EXPECT_THAT(*processes, Contains(Field(&ProcessEntry::pid, ::getpid())));
}

}  // namespace
}  // namespace kcoral::sandbox
