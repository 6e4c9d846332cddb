// Time: the steady clock that measures, and the wall clock that dates.
#pragma once

#include <chrono>
#include <string>

namespace kcoral {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// RFC 3339 in UTC with microseconds and `Z`: "2026-01-31T12:00:00.000001Z".
std::string to_rfc3339(WallTime time);

inline double to_milliseconds(std::chrono::steady_clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

inline std::chrono::steady_clock::duration from_seconds(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
}

}  // namespace kcoral
