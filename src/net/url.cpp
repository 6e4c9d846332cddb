// Reading and writing the address of an HTTP server.
#include "net/url.hpp"

#include "net/http_message.hpp"

#include <charconv>
#include <optional>

namespace kcoral::net {

namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || port == 0)
        return std::nullopt;
    return port;
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~%").contains(c);
}

std::uint16_t default_port(bool tls) {
    return tls ? 443 : 80;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
    auto wrong = [&](std::string_view why) {
        return failure(ErrorCode::bad_request, "the URL \"" + std::string(text) + "\" " +
                                                   std::string(why) +
                                                   "; expected something like http://host:8000");
    };
    Url url;
    auto scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos)
        return wrong("does not begin with http:// or https://");
    std::string_view scheme = text.substr(0, scheme_end);
    if (same_ignoring_case(scheme, "https"))
        url.tls = true;
    else if (!same_ignoring_case(scheme, "http"))
        return wrong("does not begin with http:// or https://");
    url.port = default_port(url.tls);

    std::string_view rest = text.substr(scheme_end + 3);
    auto path_start = rest.find('/');
    std::string_view authority = rest.substr(0, path_start);
    std::string_view path = path_start == std::string_view::npos ? "" : rest.substr(path_start);
    if (rest.find_first_of("?#") != std::string_view::npos)
        return wrong("has a query or a fragment");
    if (authority.contains('@')) return wrong("holds a user name");

    std::string_view port;
    if (authority.starts_with('[')) {
        auto close = authority.find(']');
        if (close == std::string_view::npos) return wrong("has a [ without its ]");
        url.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
        boost::system::error_code error;
        boost::asio::ip::make_address_v6(url.host, error);
        if (error) return wrong("has no IPv6 address between its brackets");
    } else {
        auto colon = authority.find(':');
        url.host = authority.substr(0, colon);
        port = colon == std::string_view::npos ? "" : authority.substr(colon);
        if (url.host.empty()) return wrong("names no host");
        for (char c : url.host)
            if (!is_host_character(c)) return wrong("has a host name with odd characters");
    }
    if (!port.empty()) {
        auto number = port.starts_with(':') ? parse_port(port.substr(1)) : std::nullopt;
        if (!number) return wrong("has a port that is not a number from 1 to 65535");
        url.port = *number;
    }

    for (char c : path)
        if (c <= ' ' || c == 0x7f) return wrong("has odd characters in its path");
    while (path.ends_with('/'))
        path.remove_suffix(1);
    url.prefix = path;
    return url;
}

std::string Url::authority() const {
    std::string text = host.contains(':') ? "[" + host + "]" : host;
    if (port != default_port(tls)) text += ":" + std::to_string(port);
    return text;
}

std::string Url::to_string() const {
    return (tls ? "https://" : "http://") + authority() + prefix;
}

}  // namespace kcoral::net
