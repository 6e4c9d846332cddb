#include "server/options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace kcoral::server {
namespace {

TEST(ServerOptions, TheDefaultsPass) {
    EXPECT_TRUE(check(ServerOptions()));
}

struct Bad {
    const char* named;
    std::function<void(ServerOptions&)> set;
};

TEST(ServerOptions, AWrongValueIsNamedWithItsOption) {
    const Bad table[] = {
        {"--worker-wait-timeout-seconds", [](auto& o) { o.worker_wait_timeout_seconds = 0; }},
        {"--default-timeout-seconds", [](auto& o) { o.default_timeout_seconds = -1; }},
        {"--max-timeout-seconds",
         [](auto& o) { o.max_timeout_seconds = std::numeric_limits<double>::infinity(); }},
        {"--max-timeout-seconds", [](auto& o) { o.max_timeout_seconds = 299; }},
        {"--header-timeout-seconds",
         [](auto& o) { o.header_timeout_seconds = std::numeric_limits<double>::quiet_NaN(); }},
        {"--worker-termination-grace-seconds",
         [](auto& o) { o.worker_termination_grace_seconds = -0.5; }},
        {"--output-limit-bytes", [](auto& o) { o.output_limit_bytes = (16 << 20) + 1; }},
    };
    for (const Bad& bad : table) {
        ServerOptions options;
        bad.set(options);
        auto checked = check(options);
        ASSERT_FALSE(checked) << bad.named;
        EXPECT_NE(checked.error().message.find(bad.named), std::string::npos)
            << checked.error().message;
    }
}

TEST(ServerOptions, TheBoundariesThemselvesPass) {
    ServerOptions options;
    options.worker_termination_grace_seconds = 0;
    options.default_timeout_seconds = options.max_timeout_seconds;
    options.output_limit_bytes = options.max_output_limit_bytes;
    EXPECT_TRUE(check(options));
}

}  // namespace
}  // namespace kcoral::server
