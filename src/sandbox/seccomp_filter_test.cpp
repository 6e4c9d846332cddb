#include "sandbox/seccomp_filter.hpp"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace kcoral::sandbox {
namespace {

// In a process of its own, since a filter is for good.
TEST(SeccompFilter, DeniesTheTableAndLetsTheRestRun) {
    auto filter = SeccompFilter::compile();
    ASSERT_TRUE(filter) << filter.error().message;
    EXPECT_EXIT(
        {
            ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if (!filter->install()) ::_exit(1);
            if (::mount("none", "/", "tmpfs", 0, nullptr) == 0 || errno != EPERM) ::_exit(2);
            for (int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
                if (::socket(family, SOCK_DGRAM, 0) < 0 && errno == EPERM) ::_exit(3);
            for (int family = 0; family < 64; ++family) {
                bool allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
                               family == AF_NETLINK;
                if (!allowed && (::socket(family, SOCK_DGRAM, 0) >= 0 || errno != EPERM))
                    ::_exit(4);
            }
            std::thread([] {}).join();  // by clone, since clone3 is not to be had
            ::_exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kcoral::sandbox
