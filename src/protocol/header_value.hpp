// The values of MIME headers: "form-data; name=\"program\"".
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kcoral::protocol {

struct HeaderValue {
    std::string value;                                            // in lowercase
    std::vector<std::pair<std::string, std::string>> parameters;  // names in lowercase

    // How many parameters have the name, and the first one's value ("" for none).
    std::size_t count(std::string_view name) const;
    std::string_view first(std::string_view name) const;
};

// Parameters are tokens or quoted strings; stray semicolons are let pass. `bad_request` otherwise.
Result<HeaderValue> parse_header_value(std::string_view text);

// Is it one or more of the characters of HTTP tokens?
bool is_token(std::string_view text);

std::string lowercase(std::string_view text);
// Without blanks at either end.
std::string_view trim(std::string_view text);

}  // namespace kcoral::protocol
