#include "sandbox/python_environment.hpp"

#include "base/process.hpp"
#include "base/remove_tree.hpp"
#include "sandbox/paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kcoral::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PythonEnvironment, TakesPrefixesButNoHome) {
    auto environment = parse_python_environment(
        "some hook prints this\n"
        "kcoral:executable /home/me/venv/bin/python\n"
        "kcoral:path /home/me/venv/bin/python\n"
        "kcoral:path /opt/python/bin/python3.12\n"
        "kcoral:path /home/me/venv\n"
        "kcoral:path /opt/python\n"
        "kcoral:path /home/me\n"
        "kcoral:path /home\n"
        "kcoral:path /\n"
        "kcoral:path /home/you\n"
        "kcoral:path /root\n"
        "kcoral:user_base /home/me/.local\n"
        "kcoral:home /home/me\n");
    ASSERT_TRUE(environment);
    EXPECT_EQ(environment->executable, "/home/me/venv/bin/python");
    EXPECT_THAT(environment->paths, ElementsAre("/home/me/venv", "/opt/python"));
    EXPECT_EQ(environment->user_base, "/home/me/.local");
}

TEST(PythonEnvironment, NeedsAnAnswer) {
    EXPECT_FALSE(parse_python_environment(""));
    EXPECT_FALSE(parse_python_environment("executable /usr/bin/python3\n"));
}

TEST(PythonEnvironment, OfAMissingOrBrokenPythonIsAnError) {
    auto missing = find_python_environment("/no/such/python");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
    auto broken = find_python_environment("/bin/false");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::unavailable);
    EXPECT_THAT(broken.error().message, HasSubstr("exited with code 1"));
}

// A venv behind a chain of links, whose site-packages names another folder.
TEST(PythonEnvironment, CoversAVenvItsBaseAndEditablePackages) {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "missing: /usr/bin/python3";
    std::string folder = "/tmp/kcoral-python-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder.data()));
    std::filesystem::create_directories(folder + "/links");
    std::filesystem::create_directories(folder + "/editable");
    std::filesystem::create_symlink("/usr/bin/python3", folder + "/links/python");
    auto made = Process::spawn(
        {.arguments = {folder + "/links/python", "-m", "venv", "--without-pip", folder + "/venv"},
         .environment = {"PATH=/usr/bin:/bin"}});
    ASSERT_TRUE(made);
    if (!made->wait().success()) {
        ASSERT_TRUE(remove_tree(folder));
        GTEST_SKIP() << "missing: the venv module";
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/venv/lib"))
        std::ofstream(entry.path() / "site-packages/extra.pth") << folder + "/editable\n";
    auto environment = find_python_environment(folder + "/venv/bin/python");
    ASSERT_TRUE(environment) << environment.error().message;
    EXPECT_EQ(environment->executable, folder + "/venv/bin/python");
    for (const std::string& needed :
         {folder + "/venv", folder + "/editable", folder + "/links/python", std::string("/usr")}) {
        auto covers = [&](const std::string& path) { return lies_in(needed, path); };
        EXPECT_TRUE(std::ranges::any_of(environment->paths, covers)) << needed;
    }
    ASSERT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace kcoral::sandbox
