// What the fuzz targets share: properties that must hold, and cutting input into pieces.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace kcoral::fuzz {

// Ends the run as a finding when a property does not hold.
inline void check(bool holds, std::string_view property) {
    if (holds) return;
    std::fprintf(stderr, "violated: %.*s\n", static_cast<int>(property.size()), property.data());
    std::abort();
}

template <typename T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

// Takes one line, without its LF, off the front of the input.
inline std::string_view take_line(std::string_view& input) {
    std::size_t end = input.find('\n');
    std::string_view line = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    return line;
}

// Feeds the body to the reader in pieces whose sizes follow from the seed, and finishes.
template <typename Reader>
auto read_in_pieces(Reader& reader, std::string_view body, std::uint32_t seed)
    -> decltype(reader.finish()) {
    while (!body.empty()) {
        seed = seed * 1664525u + 1013904223u;
        // Mostly a few bytes, so that every delimiter is cut somewhere; at times many.
        std::size_t length = (seed >> 16) % 16 == 0 ? (seed >> 20) % 300 : (seed >> 20) % 5;
        std::string_view piece = body.substr(0, length);
        TRY(reader.feed(as_bytes(piece)));
        body.remove_prefix(piece.size());
    }
    return reader.finish();
}

}  // namespace kcoral::fuzz
