#include "worker/workspace.hpp"

#include "base/remove_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kcoral::worker {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct WorkspaceTest : testing::Test {
    std::string root = (fs::temp_directory_path() / "kcoral-workspace-XXXXXX").string();
    fs::path path;
    std::optional<Workspace> workspace;

    void SetUp() override {
        ASSERT_TRUE(::mkdtemp(root.data()));
        path = fs::path(root) / "work";
        fs::create_directory(path);
        workspace.emplace(Workspace::open(path).value());
    }
    void TearDown() override { EXPECT_TRUE(remove_tree(root)); }

    Result<void> write(std::string_view name, std::string_view text) {
        Fd source = make_memory_file("source").value();
        EXPECT_TRUE(write_all(source, as_bytes("..")));
        EXPECT_TRUE(write_all(source, as_bytes(text)));
        return workspace->write_file(name, source, 2, text.size());
    }
    std::string text_of(Payload payload) {
        auto file = std::move(payload).finish().value();
        return file ? read_file(*file).value() : "";
    }
    std::string error_of_file(std::string_view name) {
        Payload payload(1000);
        auto size = workspace->read_file(name, payload);
        return size ? "" : size.error().message;
    }
    std::string error_of_folder(std::string_view name) {
        Payload payload(1000);
        auto folder = workspace->read_folder(name, payload);
        return folder ? "" : folder.error().message;
    }
};

TEST_F(WorkspaceTest, AFileIsWrittenPrivatelyWithItsParents) {
    mode_t mask = ::umask(0777);
    ASSERT_TRUE(write("a/b/c.txt", "hello"));
    ::umask(mask);
    Payload payload(1000);
    EXPECT_EQ(workspace->read_file("a/b/c.txt", payload).value(), 5u);
    EXPECT_EQ(text_of(std::move(payload)), "hello");
    struct stat status;
    ASSERT_EQ(::stat((path / "a/b/c.txt").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat((path / "a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(WorkspaceTest, NoFileIsOverwrittenAndNoLinkFollowed) {
    ASSERT_TRUE(write("there", "first"));
    EXPECT_FALSE(write("there", "second"));
    fs::create_directory(fs::path(root) / "outside");
    fs::create_symlink(fs::path(root) / "outside", path / "link");
    fs::create_symlink(fs::path(root) / "outside/new", path / "dangling");
    EXPECT_FALSE(write("link/file", "x"));
    EXPECT_FALSE(write("dangling", "x"));
    EXPECT_FALSE(write("there/file", "x"));
    EXPECT_TRUE(fs::is_empty(fs::path(root) / "outside"));
}

TEST_F(WorkspaceTest, OnlyRegularFilesAreRead) {
    std::ofstream(path / "real") << "x";
    fs::create_symlink(path / "real", path / "link");
    fs::create_directory_symlink(path, path / "loop");
    ASSERT_EQ(::mkfifo((path / "fifo").c_str(), 0600), 0);
    fs::create_directory(path / "folder");
    EXPECT_THAT(error_of_file("link"), HasSubstr("link"));
    EXPECT_THAT(error_of_file("loop/real"), HasSubstr("loop"));
    EXPECT_THAT(error_of_file("fifo"), HasSubstr("not a regular file"));
    EXPECT_THAT(error_of_file("folder"), HasSubstr("not a regular file"));
    EXPECT_THAT(error_of_file("none"), HasSubstr("No such file"));
    EXPECT_THAT(error_of_folder("real"), HasSubstr("real"));
    EXPECT_THAT(error_of_folder("loop"), HasSubstr("loop"));
    EXPECT_THAT(error_of_folder("none"), HasSubstr("No such file"));
}

TEST_F(WorkspaceTest, AFolderIsReadWholeAndSorted) {
    for (const char* name : {"f/b/2", "f/b/1", "f/a", "f/c/d/e"})
        ASSERT_TRUE(write(name, fs::path(name).filename().string()));
    fs::create_directory(path / "f/empty");
    Payload payload(1000);
    auto folder = workspace->read_folder("f", payload).value();
    std::vector<std::string> files;
    for (const auto& file : folder.files)
        files.push_back(file.path);
    EXPECT_THAT(files, ElementsAre("a", "b/1", "b/2", "c/d/e"));
    EXPECT_THAT(folder.directories, ElementsAre("b", "c", "c/d", "empty"));
    EXPECT_EQ(text_of(std::move(payload)), "a12e");
}

TEST_F(WorkspaceTest, AFolderThatHoldsAnythingElseIsRefused) {
    ASSERT_TRUE(write("f/a", "x"));
    fs::create_symlink("a", path / "f/link");
    EXPECT_THAT(error_of_folder("f"), HasSubstr("f/link"));
    fs::remove(path / "f/link");
    ASSERT_EQ(::mkfifo((path / "f/fifo").c_str(), 0600), 0);
    EXPECT_THAT(error_of_folder("f"), HasSubstr("f/fifo"));
}

TEST_F(WorkspaceTest, ResultsBeyondTheLimitAreTooLarge) {
    ASSERT_TRUE(write("f/a", std::string(600, 'a')));
    ASSERT_TRUE(write("f/b", std::string(400, 'b')));
    ASSERT_TRUE(write("f/c", "c"));
    Payload exact(1001), small(1000);
    EXPECT_TRUE(workspace->read_folder("f", exact));
    EXPECT_EQ(workspace->read_folder("f", small).error().code, ErrorCode::too_large);
}

TEST_F(WorkspaceTest, ItStaysTheSameFolderWhenItsNameLeadsElsewhere) {
    ASSERT_TRUE(write("a", "mine"));
    fs::rename(path, fs::path(root) / "moved");
    fs::create_directory(path);
    std::ofstream(path / "a") << "theirs";
    Payload payload(1000);
    ASSERT_TRUE(workspace->read_file("a", payload));
    EXPECT_EQ(text_of(std::move(payload)), "mine");
}

TEST_F(WorkspaceTest, ClearRemovesEverythingInsideAndNothingElse) {
    ASSERT_TRUE(write("a/b/c", "x"));
    std::ofstream(fs::path(root) / "outside") << "x";
    fs::create_symlink(fs::path(root) / "outside", path / "link");
    fs::create_directory(path / "closed");
    std::ofstream(path / "closed/file") << "x";
    fs::permissions(path / "closed", fs::perms::none);
    fs::permissions(path, fs::perms::none);
    ASSERT_TRUE(workspace->clear());
    EXPECT_TRUE(fs::is_empty(path));
    EXPECT_TRUE(fs::exists(fs::path(root) / "outside"));
}

TEST_F(WorkspaceTest, ClearKeepsPrivateFoldersOnlyWhileNothingIsInThem) {
    fs::create_directories(path / ".kcoral/tmp");
    ASSERT_TRUE(workspace->clear());
    EXPECT_TRUE(fs::exists(path / ".kcoral/tmp"));
    std::ofstream(path / ".kcoral/tmp/left") << "x";
    ASSERT_TRUE(workspace->clear());
    EXPECT_FALSE(fs::exists(path / ".kcoral/tmp/left"));
    fs::create_directories(path / ".kcoral/other/left");
    ASSERT_TRUE(workspace->clear());
    EXPECT_FALSE(fs::exists(path / ".kcoral/other/left"));
    fs::create_directory(path / ".kcoral");
    fs::create_directory_symlink(path, path / ".kcoral/tmp");
    ASSERT_TRUE(workspace->clear());
    EXPECT_FALSE(fs::is_symlink(path / ".kcoral/tmp"));
}

}  // namespace
}  // namespace kcoral::worker
