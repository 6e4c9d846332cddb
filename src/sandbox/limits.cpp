// Printing limits and handing them to setrlimit(2).
#include "sandbox/limits.hpp"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace kcoral::sandbox {
namespace {

struct Field {
    std::string_view name;
    std::uint64_t SeatLimits::* member;
};

constexpr Field fields[] = {
    {"memory", &SeatLimits::memory},       {"address_space", &SeatLimits::address_space},
    {"processes", &SeatLimits::processes}, {"open_files", &SeatLimits::open_files},
    {"file_size", &SeatLimits::file_size}, {"workspace_size", &SeatLimits::workspace_size},
};

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
    std::string text;
    for (const auto& [name, member] : fields)
        if (limits.*member)
            fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", name,
                           limits.*member);
    return text;
}

Result<SeatLimits> parse_limits(std::string_view text) {
    SeatLimits limits;
    for (const auto& [name, member] : fields)
        limits.*member = 0;
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        std::size_t equals = word.find('=');
        const Field* field = std::ranges::find(fields, word.substr(0, equals), &Field::name);
        if (equals == word.npos || field == std::end(fields))
            return failure(ErrorCode::bad_request, fmt::format("'{}' is no seat limit", word));
        std::string_view number = word.substr(equals + 1);
        auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), limits.*(field->member));
        if (error != std::errc() || end != number.data() + number.size())
            return failure(ErrorCode::bad_request,
                           fmt::format("the seat limit '{}' is no whole number", word));
    }
    return limits;
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
