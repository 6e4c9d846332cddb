// A UTF-8 scanner after table 3-7 of the Unicode standard.
#include "base/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace kcoral {
namespace {

struct Step {
    std::size_t length;  // bytes consumed, at least 1
    bool well_formed;
};

// Looks at the sequence that starts at `text[0]`. An ill-formed one is as long as its longest
// prefix that could have begun a well-formed sequence.
Step next(std::string_view text) {
    auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    std::uint8_t lead = byte(0);
    if (lead < 0x80) return {1, true};
    std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                         : lead >= 0xE0 && lead <= 0xEF ? 3
                         : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                        : 0;
    if (length == 0) return {1, false};
    // The second byte's range rules out overlong forms, surrogates and values past U+10FFFF.
    std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size() || byte(i) < low || byte(i) > high) return {i, false};
        low = 0x80;
        high = 0xBF;
    }
    return {length, true};
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        Step step = next(text);
        if (!step.well_formed) return false;
        text.remove_prefix(step.length);
    }
    return true;
}

std::string to_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        Step step = next(bytes);
        if (step.well_formed)
            text += bytes.substr(0, step.length);
        else
            text += "\xEF\xBF\xBD";
        bytes.remove_prefix(step.length);
    }
    return text;
}

}  // namespace kcoral
