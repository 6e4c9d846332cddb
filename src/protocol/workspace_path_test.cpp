#include "protocol/workspace_path.hpp"

#include "protocol/testing/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using testing::message_of;
using testing::repeat;

TEST(WorkspacePath, HasOneNormalForm) {
    struct Row {
        std::string path;
        std::string normal;
    };
    for (const auto& [path, normal] : {
             Row{"a", "a"},
             Row{"./a//b/./c/", "a/b/c"},
             Row{".a", ".a"},
             Row{"...", "..."},
             Row{"a/..b", "a/..b"},
             Row{"a/.kcoral", "a/.kcoral"},
             Row{".kcoralx", ".kcoralx"},
             Row{"\xC3\xA9 \"x\"", "\xC3\xA9 \"x\""},
             Row{std::string(255, 'x'), std::string(255, 'x')},
             Row{repeat("ab/", 1365) + "x", repeat("ab/", 1365) + "x"},
         }) {
        auto result = normalise_workspace_path(path);
        ASSERT_TRUE(result) << path << ": " << message_of(result);
        EXPECT_EQ(*result, normal);
        EXPECT_TRUE(is_normal_path(normal));
    }
}

TEST(WorkspacePath, RefusesWhatBreaksARule) {
    struct Row {
        std::string path;
        std::string_view message;
    };
    for (const auto& [path, message] : {
             Row{"", "empty"},
             Row{".", "not '.'"},
             Row{".//./", "not '.'"},
             Row{"/a", "relative"},
             Row{"/", "relative"},
             Row{"a\0b"s, "NUL"},
             Row{"a\\b", "backslash"},
             Row{"..", "'..'"},
             Row{"a/../b", "'..'"},
             Row{"a/..", "'..'"},
             Row{".kcoral", "reserved"},
             Row{"./.kcoral/x", "reserved"},
             Row{"a\xFF", "UTF-8"},
             Row{std::string(256, 'x'), "at most 255 bytes, one here has 256"},
             Row{repeat("ab/", 1365) + "xy", "at most 4096 bytes, this one has 4097"},
         }) {
        auto result = normalise_workspace_path(path);
        ASSERT_FALSE(result) << path;
        EXPECT_EQ(result.error().code, ErrorCode::bad_request);
        EXPECT_THAT(result.error().message, HasSubstr(message)) << path;
    }
}

TEST(WorkspacePath, KnowsTheNormalForm) {
    EXPECT_TRUE(is_normal_path(".kcoral/x"));
    EXPECT_TRUE(is_normal_path("a\\b"));
    for (std::string path : {""s, "/a"s, "a/"s, "a//b"s, "."s, "a/./b"s, ".."s, "a/../b"s, "a\0"s,
                             "\xFF"s, std::string(256, 'x'), repeat("ab/", 1365) + "xy"})
        EXPECT_FALSE(is_normal_path(path)) << path;
}

}  // namespace
}  // namespace kcoral::protocol
