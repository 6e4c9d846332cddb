#include "sandbox/diagnosis.hpp"

#include "base/remove_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace kcoral::sandbox {
namespace {

using ::testing::HasSubstr;

struct Case {
    const char* name;
    const char* said;
    HostFacts facts;
    const char* cause;
    const char* remedy;
};

class Diagnosing : public ::testing::TestWithParam<Case> {};

TEST_P(Diagnosing, NamesCauseAndRemedy) {
    const Case& c = GetParam();
    Diagnosis diagnosis = diagnose(c.said, c.facts);
    EXPECT_THAT(diagnosis.cause, HasSubstr(c.cause));
    EXPECT_THAT(diagnosis.remedy, HasSubstr(c.remedy));
}

constexpr const char* no_userns = "bwrap: No permissions to create a new namespace, likely...\n";

INSTANTIATE_TEST_SUITE_P(
    Of, Diagnosing,
    ::testing::Values(
        Case{"no_bubblewrap", "bwrap is not installed", {}, "not installed", "Install"},
        Case{"debian_sysctl",
             no_userns,
             {.user_namespaces_off = true},
             "unprivileged_userns_clone",
             "sysctl -w kernel.unprivileged_userns_clone=1"},
        Case{"none_allowed",
             no_userns,
             {.no_user_namespaces = true},
             "max_user_namespaces is 0",
             "user.max_user_namespaces="},
        Case{"apparmor",
             "bwrap: setting up uid map: Permission denied",
             {.apparmor_restricts = true},
             "AppArmor",
             "apparmor_restrict_unprivileged_userns=0"},
        Case{"apparmor_network",
             "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
             {.apparmor_restricts = true},
             "AppArmor",
             "profile bwrap"},
        Case{"container",
             "bwrap: Creating new namespace failed: Operation not permitted",
             {.in_container = true},
             "container forbids",
             "seccomp=unconfined"},
        Case{"container_proc",
             "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
             {.in_container = true},
             "hides parts of /proc",
             "systempaths=unconfined"},
        Case{"seat",
             "the worker's seat cannot be set up: making the seat's namespaces: EPERM",
             {},
             "forbids making namespaces",
             "bwrap"},
        Case{"too_many",
             "making the seat's namespaces: No space left on device",
             {},
             "limit on the number",
             "Raise"},
        Case{"python",
             "Python cannot be started: /p: Permission denied",
             {},
             "Python environment",
             "chmod"},
        Case{"unknown", "first\nbwrap: something new\n", {}, "bwrap: something new", "none"},
        Case{"silent", "", {}, "without saying why", "none"}),
    [](const auto& c) { return std::string(c.param.name); });

class HostFactsBelowARoot : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(::mkdtemp(root_.data())); }
    void TearDown() override { ASSERT_TRUE(remove_tree(root_)); }
    void write(const std::string& path, const std::string& text) {
        std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    std::string root_ = "/tmp/kcoral-facts-XXXXXX";
};

TEST_F(HostFactsBelowARoot, AreAllFineOnAHostWithoutSuchSettings) {
    HostFacts facts = read_host_facts(root_);
    facts.root = false;
    EXPECT_EQ(facts, HostFacts{});
}

TEST_F(HostFactsBelowARoot, FollowTheKernelsSettings) {
    write("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
    write("/proc/sys/user/max_user_namespaces", "0\n");
    write("/proc/sys/user/max_net_namespaces", "0\n");
    write("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    write("/run/.containerenv", "");
    HostFacts facts = read_host_facts(root_);
    EXPECT_TRUE(facts.user_namespaces_off && facts.no_user_namespaces &&
                facts.no_network_namespaces && facts.apparmor_restricts && facts.in_container);
}

}  // namespace
}  // namespace kcoral::sandbox
