// The table of error kinds.
#include "protocol/error_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace kcoral::protocol {
namespace {

struct Row {
    ErrorKind kind;
    std::string_view text;
    int status;
};

// In the order of the enumeration.
constexpr auto table = std::to_array<Row>({
    {ErrorKind::parse, "parse", 400},
    {ErrorKind::request_too_large, "request_too_large", 413},
    {ErrorKind::busy, "busy", 503},
    {ErrorKind::timeout, "timeout", 504},
    {ErrorKind::engine, "engine", 500},
    {ErrorKind::response_too_large, "response_too_large", 500},
    {ErrorKind::server_transport, "server_transport", 502},
    {ErrorKind::compile, "compile", 200},
    {ErrorKind::runtime, "runtime", 200},
    {ErrorKind::gpu_access, "gpu_access", 200},
    {ErrorKind::correctness, "correctness", 200},
    {ErrorKind::serialization, "serialization", 200},
    {ErrorKind::unavailable, "unavailable", 200},
});

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].kind != static_cast<ErrorKind>(i)) return false;
    return true;
}
static_assert(in_order());

const Row& row(ErrorKind kind) {
    return table.at(static_cast<std::size_t>(kind));
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
    return row(kind).text;
}

std::optional<ErrorKind> error_kind_from(std::string_view text) {
    auto found = std::ranges::find(table, text, &Row::text);
    if (found == table.end()) return std::nullopt;
    return found->kind;
}

int http_status(ErrorKind kind) {
    return row(kind).status;
}

}  // namespace kcoral::protocol
