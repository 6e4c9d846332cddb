// Reading header values from left to right.
#include "protocol/header_value.hpp"

#include "protocol/quote.hpp"

#include <algorithm>

namespace kcoral::protocol {
namespace {

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Takes a quoted string off the front of the text, which begins with its quote.
Result<std::string> take_quoted(std::string_view& text) {
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        value += text[i];
    }
    return failure(ErrorCode::bad_request,
                   "a quoted parameter has no closing quote: " + quote(text));
}

Result<std::string> take_parameter_value(std::string_view& text) {
    std::size_t end = text.find(';');
    if (!text.starts_with('"')) {
        std::string value(trim(text.substr(0, end)));
        text.remove_prefix(std::min(end, text.size()));
        return value;
    }
    TRY_ASSIGN(std::string value, take_quoted(text));
    end = text.find(';');
    if (!trim(text.substr(0, end)).empty())
        return failure(ErrorCode::bad_request,
                       "expected ';' after a quoted parameter, got " + quote(text));
    text.remove_prefix(std::min(end, text.size()));
    return value;
}

}  // namespace

std::size_t HeaderValue::count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count(
        parameters, name,
        [](const auto& parameter) -> std::string_view { return parameter.first; }));
}

std::string_view HeaderValue::first(std::string_view name) const {
    for (const auto& [known, text] : parameters)
        if (known == name) return text;
    return {};
}

Result<HeaderValue> parse_header_value(std::string_view text) {
    HeaderValue header;
    std::size_t end = std::min(text.find(';'), text.size());
    header.value = lowercase(trim(text.substr(0, end)));
    text.remove_prefix(end);
    while (!text.empty()) {
        text.remove_prefix(1);  // the semicolon
        text = trim(text);
        if (text.empty() || text.starts_with(';')) continue;
        std::size_t equals = text.find('=');
        std::string_view name = trim(text.substr(0, equals));
        if (equals == std::string_view::npos || !is_token(name))
            return failure(ErrorCode::bad_request,
                           "expected a parameter, name=value, got " + quote(text));
        text = trim(text.substr(equals + 1));
        TRY_ASSIGN(std::string value, take_parameter_value(text));
        header.parameters.emplace_back(lowercase(name), std::move(value));
    }
    return header;
}

bool is_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return is_alphanumeric(c) || marks.contains(c);
    });
}

std::string lowercase(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace kcoral::protocol
