// Formatting of wall-clock times.
#include "base/clock.hpp"

#include <fmt/format.h>

#include <time.h>

namespace kcoral {

std::string to_rfc3339(WallTime time) {
    using namespace std::chrono;
    auto since_epoch = floor<microseconds>(time.time_since_epoch());
    auto whole = floor<seconds>(since_epoch);
    std::time_t seconds_part = static_cast<std::time_t>(whole.count());
    std::tm parts{};
    ::gmtime_r(&seconds_part, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       (since_epoch - whole).count());
}

}  // namespace kcoral
