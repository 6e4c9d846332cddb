// Conflicts of upload destinations, found by sorting: in time that no choice of paths makes long.
#include "protocol/upload_paths.hpp"

#include "protocol/quote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace kcoral::protocol {
namespace {

// The order in which `/` comes before all other bytes: what is below a path follows it at once.
bool before(std::string_view a, std::string_view b) {
    auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c); };
    return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
}

bool is_same_or_below(std::string_view path, std::string_view directory) {
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

Result<void> UploadPaths::check() const {
    std::vector<const Destination*> sorted;
    sorted.reserve(destinations_.size());
    for (const Destination& destination : destinations_)
        sorted.push_back(&destination);
    std::ranges::sort(sorted, before,
                      [](const Destination* d) -> std::string_view { return d->path; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const Destination* first = sorted[i - 1];
        const Destination* second = sorted[i];
        if (!is_same_or_below(second->path, first->path)) continue;
        if (first->instruction > second->instruction) std::swap(first, second);
        return failure(ErrorCode::bad_request,
                       fmt::format("instructions[{}].path: {} conflicts with {}, where "
                                   "instructions[{}] puts its file",
                                   second->instruction, quote(second->path), quote(first->path),
                                   first->instruction));
    }
    return {};
}

}  // namespace kcoral::protocol
