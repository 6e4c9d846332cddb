// Header fields, body pieces and the other words of HTTP.
#include "net/http_message.hpp"

#include <algorithm>

namespace kcoral::net {

namespace {

char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string_view trimmed(std::string_view text) {
    auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

void Headers::add(std::string name, std::string value) {
    fields_.push_back({std::move(name), std::move(value)});
}

void Headers::set(std::string name, std::string value) {
    remove(name);
    add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
    std::erase_if(fields_,
                  [&](const Header& field) { return same_ignoring_case(field.name, name); });
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
    for (const Header& field : fields_)
        if (same_ignoring_case(field.name, name)) return field.value;
    return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const Header& field : fields_)
        if (same_ignoring_case(field.name, name)) values.push_back(field.value);
    return values;
}

std::size_t Headers::count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        fields_, [&](const Header& field) { return same_ignoring_case(field.name, name); }));
}

bool Headers::lists(std::string_view name, std::string_view token) const {
    for (const Header& field : fields_) {
        if (!same_ignoring_case(field.name, name)) continue;
        std::string_view rest = field.value;
        while (true) {
            auto comma = rest.find(',');
            if (same_ignoring_case(trimmed(rest.substr(0, comma)), token)) return true;
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    return false;
}

std::uint64_t size_of(const Piece& piece) {
    if (auto* text = std::get_if<std::string>(&piece)) return text->size();
    if (auto* shared = std::get_if<SharedBytes>(&piece)) return shared->bytes.size();
    return std::get<FileRange>(piece).length;
}

std::uint64_t size_of(const Pieces& pieces) {
    std::uint64_t total = 0;
    for (const Piece& piece : pieces)
        total += size_of(piece);
    return total;
}

bool Peer::is_loopback() const {
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
            .is_loopback();
    return address.is_loopback();
}

std::string Peer::to_string() const {
    std::string text = address.to_string();
    if (address.is_v6()) text = "[" + text + "]";
    return text + ":" + std::to_string(port);
}

Response make_response(unsigned status, std::string content_type, std::string body) {
    Response response;
    response.status = status;
    response.headers.add("Content-Type", std::move(content_type));
    response.body.emplace_back(std::move(body));
    return response;
}

std::string_view reason_phrase(unsigned status) {
    switch (status) {
        case 100:
            return "Continue";
        case 101:
            return "Switching Protocols";
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 206:
            return "Partial Content";
        case 301:
            return "Moved Permanently";
        case 302:
            return "Found";
        case 304:
            return "Not Modified";
        case 307:
            return "Temporary Redirect";
        case 308:
            return "Permanent Redirect";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 411:
            return "Length Required";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 422:
            return "Unprocessable Content";
        case 426:
            return "Upgrade Required";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Unknown";
    }
}

}  // namespace kcoral::net
