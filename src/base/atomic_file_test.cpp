#include "base/atomic_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace kcoral {
namespace {

namespace fs = std::filesystem;

struct AtomicFileTest : testing::Test {
    fs::path folder = fs::temp_directory_path() / ("kcoral-atomic-" + std::to_string(::getpid()));
    std::string path = (folder / "file").string();
    void SetUp() override { fs::create_directories(folder); }
    void TearDown() override { fs::remove_all(folder); }
    auto entries() { return std::distance(fs::directory_iterator(folder), {}); }
};

TEST_F(AtomicFileTest, CommitReplacesTheOldFile) {
    for (const char* text : {"old", "new"}) {
        auto file = AtomicFile::create(path).value();
        ASSERT_TRUE(file.write(as_bytes(text)));
        ASSERT_TRUE(file.commit());
    }
    EXPECT_EQ(read_file(path).value(), "new");
    EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, WithoutACommitNothingIsLeft) {
    {
        auto file = AtomicFile::create(path).value();
        ASSERT_TRUE(file.write(as_bytes("half")));
        AtomicFile moved = std::move(file);
    }
    EXPECT_EQ(entries(), 0);
}

TEST_F(AtomicFileTest, AMissingFolderIsNamed) {
    auto file = AtomicFile::create("/nonexistent/folder/file");
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("/nonexistent/folder"), std::string::npos);
}

}  // namespace
}  // namespace kcoral
