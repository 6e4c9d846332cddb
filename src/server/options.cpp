// Rules between options.
#include "server/options.hpp"

#include <fmt/format.h>

#include <cmath>

namespace kcoral::server {
namespace {

struct PositiveSeconds {
    std::string_view name;
    double value;
};

}  // namespace

Result<void> check(const ServerOptions& options) {
    for (const PositiveSeconds& seconds : {
             PositiveSeconds{"--worker-wait-timeout-seconds", options.worker_wait_timeout_seconds},
             PositiveSeconds{"--default-timeout-seconds", options.default_timeout_seconds},
             PositiveSeconds{"--max-timeout-seconds", options.max_timeout_seconds},
             PositiveSeconds{"--header-timeout-seconds", options.header_timeout_seconds},
             PositiveSeconds{"--idle-timeout-seconds", options.idle_timeout_seconds},
             PositiveSeconds{"--progress-timeout-seconds", options.progress_timeout_seconds},
         })
        if (!std::isfinite(seconds.value) || seconds.value <= 0)
            return failure(ErrorCode::bad_request,
                           fmt::format("{} is {}: it must be a number of seconds above 0",
                                       seconds.name, seconds.value));
    double grace = options.worker_termination_grace_seconds;
    if (!std::isfinite(grace) || grace < 0)
        return failure(ErrorCode::bad_request,
                       fmt::format("--worker-termination-grace-seconds is {}: it must be a number "
                                   "of seconds, 0 or more",
                                   grace));
    if (options.default_timeout_seconds > options.max_timeout_seconds)
        return failure(ErrorCode::bad_request,
                       fmt::format("--default-timeout-seconds is {}: it must not be above "
                                   "--max-timeout-seconds, which is {}",
                                   options.default_timeout_seconds, options.max_timeout_seconds));
    if (options.output_limit_bytes > options.max_output_limit_bytes)
        return failure(ErrorCode::bad_request,
                       fmt::format("--output-limit-bytes is {}: it must not be above "
                                   "--max-output-limit-bytes, which is {}",
                                   options.output_limit_bytes, options.max_output_limit_bytes));
    return {};
}

}  // namespace kcoral::server
