#include "server/workspace_root.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kcoral::server {
namespace {

namespace fs = std::filesystem;

struct WorkspaceRootTest : testing::Test {
    fs::path directory =
        fs::temp_directory_path() / ("kcoral-workspace-root-" + std::to_string(::getpid()));
    void TearDown() override { fs::remove_all(directory); }
    auto entries() { return std::distance(fs::directory_iterator(directory), {}); }
};

TEST_F(WorkspaceRootTest, TheFolderIsPrivateAndGoesWithItsOwner) {
    {
        auto root = WorkspaceRoot::create(directory).value();
        EXPECT_EQ(fs::status(root.path()).permissions(), fs::perms::owner_all);
        std::ofstream(fs::path(root.path()) / "file") << "x";
    }
    EXPECT_EQ(entries(), 0);
}

TEST_F(WorkspaceRootTest, ServersShareADirectoryAndClearUpAfterTheDead) {
    auto alive = WorkspaceRoot::create(directory).value();
    fs::create_directories(directory / "server-dead" / "w1");
    fs::create_directories(directory / "somebody-elses");
    auto another = WorkspaceRoot::create(directory).value();
    EXPECT_TRUE(fs::exists(alive.path()));
    EXPECT_FALSE(fs::exists(directory / "server-dead"));
    EXPECT_TRUE(fs::exists(directory / "somebody-elses"));
}

TEST_F(WorkspaceRootTest, AFolderOthersCanWriteToIsRefusedByName) {
    fs::create_directories(directory);
    fs::permissions(directory, fs::perms::all);
    auto root = WorkspaceRoot::create(directory);
    ASSERT_FALSE(root);
    EXPECT_NE(root.error().message.find(directory.string()), std::string::npos);
    EXPECT_NE(root.error().message.find("--workspace-dir"), std::string::npos);
}

}  // namespace
}  // namespace kcoral::server
