// Quoting other people's text in messages: always UTF-8, never long.
#pragma once

#include <string>
#include <string_view>

namespace kcoral::protocol {

// The text in double quotes; a long one is cut and ends in "...".
std::string quote(std::string_view text);

}  // namespace kcoral::protocol
