#include "sandbox/zygote_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Policy policy() {
    Policy policy;
    policy.python.paths = {"/opt/python", "/usr/lib/python3"};
    policy.workspaces = "/var/kcoral";
    policy.readonly_paths = {"/data", "/tmp/shown"};
    policy.devices = {"/dev/nvidia0"};
    policy.driver_paths = {"/usr/local/nvidia", "/opt/nvidia"};
    return policy;
}

std::string command_of(const Policy& policy) {
    return fmt::format("{}", fmt::join(zygote_command(policy, {"python", "-m", "zygote"}), " "));
}

TEST(ZygoteCommand, ShowsPathsReadOnlyAndOnce) {
    std::string command = command_of(policy());
    EXPECT_THAT(command, HasSubstr("--ro-bind /usr /usr"));
    EXPECT_THAT(command, HasSubstr("--ro-bind-try /opt/python /opt/python"));
    EXPECT_THAT(command, HasSubstr("--ro-bind-try /data /data"));
    EXPECT_THAT(command, Not(HasSubstr("/usr/lib/python3 ")));
    EXPECT_THAT(command, Not(HasSubstr("/usr/local/nvidia ")));
    EXPECT_THAT(command, HasSubstr("--dev-bind-try /dev/nvidia0 /dev/nvidia0"));
    EXPECT_THAT(command, HasSubstr("--bind /var/kcoral /workspaces --remount-ro /dev"));
    EXPECT_TRUE(command.ends_with("--chdir / -- python -m zygote"));
}

TEST(ZygoteCommand, MountsPathsBelowTmpWhereTmpLeads) {
    EXPECT_THAT(command_of(policy()), HasSubstr("/tmp/shown /work/.kcoral/tmp/shown"));
}

TEST(ZygoteCommand, CutsTheNetworkAndDiesWithTheServer) {
    std::string command = command_of(policy());
    for (const char* word : {"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net",
                             "--die-with-parent", "--new-session", "--cap-drop ALL"})
        EXPECT_THAT(command, HasSubstr(word));
}

TEST(ZygoteCommand, MakesAUserNamespaceForPlainUsersOnly) {
    Policy root = policy();
    root.root = true;
    EXPECT_THAT(command_of(policy()), HasSubstr("--unshare-user"));
    EXPECT_THAT(command_of(policy()), Not(HasSubstr("CAP_SETUID")));
    EXPECT_THAT(command_of(root), Not(HasSubstr("--unshare-user")));
    EXPECT_THAT(command_of(root), HasSubstr("CAP_SETUID"));
}

TEST(ZygoteCommand, IsTheSameForTheSamePolicy) {
    EXPECT_EQ(zygote_command(policy(), {"x"}), zygote_command(policy(), {"x"}));
}

}  // namespace
}  // namespace kcoral::sandbox
