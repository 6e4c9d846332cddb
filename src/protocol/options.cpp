// Defaults and clamping.
#include "protocol/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kcoral::protocol {
namespace {

std::chrono::nanoseconds nanoseconds(double seconds) {
    // About 285 years: what nanoseconds in 64 bits can hold, less a margin for adding to a clock.
    double count = std::min(std::ceil(seconds * 1e9), 9e18);
    return std::chrono::nanoseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(count)));
}

}  // namespace

ResolvedOptions resolve_options(const Options& options, const OptionLimits& limits) {
    double seconds = options.timeout_seconds.value_or(limits.default_timeout_seconds);
    std::uint64_t output = options.output_limit_bytes.value_or(limits.default_output_limit_bytes);
    return {.timeout = nanoseconds(std::min(seconds, limits.max_timeout_seconds)),
            .output_limit_bytes = std::min(output, limits.max_output_limit_bytes),
            .gpu_count = options.gpu_count};
}

Result<void> check_gpu_capacity(const Options& options, int configured_gpus) {
    if (!options.gpu_count || *options.gpu_count <= configured_gpus) return {};
    std::string capacity = configured_gpus == 0
                               ? std::string("this is a CPU server with a capacity of 0 GPUs")
                               : fmt::format("the capacity of this server is {} GPU{}",
                                             configured_gpus, configured_gpus == 1 ? "" : "s");
    return failure(ErrorCode::bad_request,
                   fmt::format("options.gpu_count: {} GPU{} asked for, but {}", *options.gpu_count,
                               *options.gpu_count == 1 ? "" : "s", capacity));
}

}  // namespace kcoral::protocol
