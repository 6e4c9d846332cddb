// What headers say of a multipart body and of its parts.
#include "protocol/header_value.hpp"
#include "protocol/multipart_reader.hpp"
#include "protocol/quote.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kcoral::protocol {
namespace {

constexpr std::size_t max_boundary_length = 70;  // RFC 2046

Failure bad(std::string message) {
    return failure(ErrorCode::bad_request, std::move(message));
}

bool is_control(char c) {
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
}

// The headers that matter; each may be there once.
struct Headers {
    std::optional<std::string> disposition;
    std::optional<std::string> type;
    std::optional<std::string> transfer_encoding;
};

Result<void> add_header(Headers& headers, std::string_view line) {
    std::size_t colon = line.find(':');
    std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name))
        return bad("expected a header of a part, name: value, got " + quote(line));
    if (std::ranges::any_of(line, is_control))
        return bad("a header of a part holds a control character: " + quote(line));
    std::string lower = lowercase(name);
    std::optional<std::string>* slot = lower == "content-disposition" ? &headers.disposition
                                       : lower == "content-type"      ? &headers.type
                                       : lower == "content-transfer-encoding"
                                           ? &headers.transfer_encoding
                                           : nullptr;
    if (!slot) return {};
    if (*slot) return bad(fmt::format("a part has two {} headers", name));
    *slot = trim(line.substr(colon + 1));
    return {};
}

Result<Headers> parse_headers(std::string_view lines) {
    Headers headers;
    std::string line;
    while (!lines.empty()) {
        std::size_t end = std::min(lines.find('\n'), lines.size());
        line += lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        // A line that begins with a blank continues the one before it.
        if (!line.empty() && (lines.starts_with(' ') || lines.starts_with('\t'))) continue;
        if (!line.empty()) TRY(add_header(headers, line));
        line.clear();
    }
    return headers;
}

Result<HeaderValue> parse(std::string_view name, std::string_view text) {
    auto value = parse_header_value(text);
    if (!value) return Failure(std::move(value.error()).within(name));
    return value;
}

bool is_media_type(std::string_view type) {
    std::size_t slash = type.find('/');
    return slash != std::string_view::npos && is_token(type.substr(0, slash)) &&
           is_token(type.substr(slash + 1));
}

}  // namespace

Result<PartHead> parse_part_head(std::string_view lines) {
    TRY_ASSIGN(Headers headers, parse_headers(lines));
    if (!headers.disposition) return bad("a part has no Content-Disposition header");
    if (!headers.type) return bad("a part has no Content-Type header");

    TRY_ASSIGN(HeaderValue disposition, parse("Content-Disposition", *headers.disposition));
    if (disposition.value != "form-data")
        return bad("the Content-Disposition of a part must be form-data, not " +
                   quote(disposition.value));
    if (disposition.count("name") != 1 || disposition.first("name").empty())
        return bad("the Content-Disposition of a part must have one name that is not empty: " +
                   quote(*headers.disposition));

    TRY_ASSIGN(HeaderValue type, parse("Content-Type", *headers.type));
    if (!is_media_type(type.value))
        return bad("the Content-Type of a part must be a media type, not " + quote(type.value));
    if (type.value.starts_with("multipart/")) return bad("a part must not be multipart itself");

    if (headers.transfer_encoding) {
        std::string encoding = lowercase(*headers.transfer_encoding);
        if (encoding != "binary" && encoding != "8bit")
            return bad("the Content-Transfer-Encoding of a part must be binary or 8bit, not " +
                       quote(encoding));
    }

    PartHead head{std::string(disposition.first("name")), std::move(type.value), std::nullopt};
    if (disposition.count("filename") > 0) head.filename = disposition.first("filename");
    return head;
}

Result<std::string> parse_content_type_boundary(std::string_view header) {
    TRY_ASSIGN(HeaderValue type, parse("Content-Type", header));
    if (type.value != "multipart/form-data")
        return bad("the Content-Type must be multipart/form-data with a boundary, not " +
                   quote(type.value));
    if (type.count("boundary") != 1 || type.first("boundary").empty())
        return bad("the Content-Type multipart/form-data must have one boundary that is not empty");
    std::string_view boundary = type.first("boundary");
    if (boundary.size() > max_boundary_length)
        return bad(fmt::format("a multipart boundary has at most {} characters, this one has {}",
                               max_boundary_length, boundary.size()));
    bool printable = std::ranges::all_of(boundary, [](char c) { return c >= ' ' && c <= '~'; });
    if (!printable || boundary.ends_with(' '))
        return bad("a multipart boundary is printable ASCII and does not end in a blank");
    return std::string(boundary);
}

}  // namespace kcoral::protocol
