// Printing limits and handing them to setrlimit(2).
#include "sandbox/limits.hpp"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace kcoral::sandbox {
namespace {

Result<void> limit(__rlimit_resource_t resource, const char* name, std::uint64_t value) {
    rlimit current{};
    if (::getrlimit(resource, &current) != 0) return errno_failure(name);
    rlim_t limited = std::min<rlim_t>(value, current.rlim_max);
    rlimit wanted{limited, limited};
    if (::setrlimit(resource, &wanted) != 0) return errno_failure(name);
    return {};
}

}  // namespace

std::string to_string(const SeatLimits& limits) {
    const std::pair<const char*, std::uint64_t> fields[] = {
        {"memory", limits.memory},       {"address_space", limits.address_space},
        {"processes", limits.processes}, {"open_files", limits.open_files},
        {"file_size", limits.file_size}, {"workspace_size", limits.workspace_size},
    };
    std::string text;
    for (const auto& [name, value] : fields)
        if (value)
            fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", name,
                           value);
    return text;
}

Result<void> apply_limits(const SeatLimits& limits, bool in_cgroup, bool counts_processes) {
    TRY(limit(RLIMIT_CORE, "limiting core files", 0));
    if (limits.memory && !in_cgroup) TRY(limit(RLIMIT_DATA, "limiting memory", limits.memory));
    if (limits.address_space) TRY(limit(RLIMIT_AS, "limiting address space", limits.address_space));
    if (limits.processes && counts_processes)
        TRY(limit(RLIMIT_NPROC, "limiting processes", limits.processes));
    if (limits.open_files) TRY(limit(RLIMIT_NOFILE, "limiting open files", limits.open_files));
    if (limits.file_size) TRY(limit(RLIMIT_FSIZE, "limiting file size", limits.file_size));
    return {};
}

}  // namespace kcoral::sandbox
