// UTF-8: checking it, and making any bytes into it.
#pragma once

#include <string>
#include <string_view>

namespace kcoral {

// Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// The text with each maximal ill-formed subpart replaced by U+FFFD: the practice that Unicode
// recommends (chapter 3.9) and that Python's decode("utf-8", "replace") follows.
std::string to_utf8(std::string_view bytes);

}  // namespace kcoral
