// Views of raw bytes, and the conversions between them and text.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace kcoral {

using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace kcoral
