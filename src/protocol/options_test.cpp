#include "protocol/options.hpp"

#include "protocol/testing/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kcoral::protocol {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::message_of;

TEST(Options, AreFilledInAndClamped) {
    const OptionLimits limits;
    EXPECT_EQ(resolve_options({}, limits),
              (ResolvedOptions{.timeout = 300s, .output_limit_bytes = 1 << 20}));
    EXPECT_EQ(
        resolve_options({.timeout_seconds = 0.25, .output_limit_bytes = 0, .gpu_count = 2}, limits),
        (ResolvedOptions{.timeout = 250ms, .output_limit_bytes = 0, .gpu_count = 2}));
    EXPECT_EQ(resolve_options({.timeout_seconds = 900, .output_limit_bytes = 16 << 20}, limits),
              (ResolvedOptions{.timeout = 900s, .output_limit_bytes = 16 << 20}));
    EXPECT_EQ(
        resolve_options({.timeout_seconds = 900.001, .output_limit_bytes = (16 << 20) + 1}, limits),
        (ResolvedOptions{.timeout = 900s, .output_limit_bytes = 16 << 20}));
}

TEST(Options, KeepTimeoutsOfAnySizeRepresentable) {
    OptionLimits limits{.max_timeout_seconds = std::numeric_limits<double>::max()};
    EXPECT_EQ(resolve_options({.timeout_seconds = 1e-300}, limits).timeout, 1ns);
    EXPECT_GT(resolve_options({.timeout_seconds = 1e300}, limits).timeout, 24h * 365 * 200);
}

TEST(Options, NameTheCapacityWhenTooManyGpusAreAskedFor) {
    EXPECT_TRUE(check_gpu_capacity({}, 0));
    EXPECT_TRUE(check_gpu_capacity({.gpu_count = 2}, 2));
    EXPECT_THAT(message_of(check_gpu_capacity({.gpu_count = 3}, 2)),
                HasSubstr("options.gpu_count: 3 GPUs asked for, but the capacity"));
    EXPECT_THAT(message_of(check_gpu_capacity({.gpu_count = 1}, 0)), HasSubstr("capacity"));
    EXPECT_EQ(check_gpu_capacity({.gpu_count = 1}, 0).error().code, ErrorCode::bad_request);
}

}  // namespace
}  // namespace kcoral::protocol
