// Connecting to a server by name: looking it up, TCP, TLS.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/connection.hpp"
#include "net/tls_transport.hpp"
#include "net/url.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>

namespace kcoral::net {

// Tries the host's addresses one after the other; each gets its share of the time. `url` and `tls`
// must outlive the call.
boost::asio::awaitable<Result<std::unique_ptr<Connection>>> connect(
    boost::asio::any_io_executor loop, const Url& url, const std::optional<TlsContext>& tls,
    SteadyTime deadline);

}  // namespace kcoral::net
