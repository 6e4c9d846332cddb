// Url: where an HTTP server lives.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace kcoral::net {

struct Url {
    bool tls = false;
    std::string host;  // an IPv6 address without its brackets
    std::uint16_t port = 80;
    std::string prefix;  // of every path: empty, or from a `/` to a non-`/`

    // "http://host", "https://[::1]:8443/some/prefix/". A query, a fragment or a user name is
    // refused.
    static Result<Url> parse(std::string_view text);

    // The value of a Host header: the port is left out when it is the scheme's own.
    std::string authority() const;
    std::string to_string() const;

    bool operator==(const Url&) const = default;
};

}  // namespace kcoral::net
