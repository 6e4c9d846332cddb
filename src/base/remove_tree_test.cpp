#include "base/remove_tree.hpp"

#include "base/fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kcoral {
namespace {

namespace fs = std::filesystem;

struct RemoveTreeTest : testing::Test {
    fs::path around = fs::temp_directory_path() / ("kcoral-remove-" + std::to_string(::getpid()));
    fs::path tree = around / "tree";
    void SetUp() override { fs::create_directories(tree); }
    void TearDown() override { fs::remove_all(around); }
    void touch(const fs::path& path) { std::ofstream(path) << "x"; }
};

TEST_F(RemoveTreeTest, FilesFoldersAndSpecialFilesGo) {
    fs::create_directories(tree / "a" / "b" / "c");
    fs::create_directories(tree / ".kcoral-removing-0" / "x");
    touch(tree / "a" / "b" / "file");
    touch(tree / ".hidden");
    ::mkfifo((tree / "a" / "fifo").c_str(), 0600);
    ASSERT_TRUE(remove_tree(tree));
    EXPECT_FALSE(fs::exists(tree));
}

TEST_F(RemoveTreeTest, SymlinksAreRemovedNotFollowed) {
    fs::create_directories(around / "outside");
    touch(around / "outside" / "keep");
    fs::create_directory_symlink(around / "outside", tree / "link");
    ASSERT_TRUE(remove_tree(tree));
    EXPECT_TRUE(fs::exists(around / "outside" / "keep"));
}

TEST_F(RemoveTreeTest, FoldersWithoutPermissionsAreOpenedUp) {
    fs::create_directories(tree / "closed" / "inner");
    touch(tree / "closed" / "inner" / "file");
    ::chmod((tree / "closed" / "inner").c_str(), 0);
    ::chmod((tree / "closed").c_str(), 0);
    ASSERT_TRUE(remove_tree(tree));
    EXPECT_FALSE(fs::exists(tree));
}

TEST_F(RemoveTreeTest, ATreeDeeperThanAnyPathMayBeGoes) {
    Fd folder(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 5000; ++depth) {
        ASSERT_EQ(::mkdirat(folder.get(), "d", 0700), 0);
        folder = Fd(::openat(folder.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(folder);
    }
    folder.reset();
    ASSERT_TRUE(remove_tree(tree));
    EXPECT_FALSE(fs::exists(tree));
}

TEST_F(RemoveTreeTest, APathThatIsNotThereIsNoError) {
    EXPECT_TRUE(remove_tree(around / "nothing"));
}

}  // namespace
}  // namespace kcoral
