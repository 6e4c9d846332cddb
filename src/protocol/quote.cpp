// Cutting and mending quoted text.
#include "protocol/quote.hpp"

#include "base/utf8.hpp"

namespace kcoral::protocol {
namespace {

constexpr std::size_t longest = 100;

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::string quote(std::string_view text) {
    std::string_view shown = text;
    if (text.size() > longest) {
        std::size_t cut = longest;
        // A character has at most three continuation bytes.
        for (int i = 0; i < 3 && continues_character(text[cut]); ++i)
            --cut;
        shown = text.substr(0, cut);
    }
    return '"' + to_utf8(shown) + (shown.size() < text.size() ? "\"..." : "\"");
}

}  // namespace kcoral::protocol
