// ServerCore: what the sessions of one HTTP server share.
#pragma once

#include "net/disconnect_watch.hpp"
#include "net/http_server.hpp"
#include "net/tls_transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

namespace kcoral::net {

class Session;

// Kept alive by the server and by each of its sessions.
struct ServerCore {
    ServerCore(boost::asio::any_io_executor loop, ServerOptions options, Handler handler,
               ErrorBody error_body, DisconnectWatch watch, std::optional<TlsContext> tls)
        : loop(std::move(loop)),
          options(std::move(options)),
          handler(std::move(handler)),
          error_body(std::move(error_body)),
          watch(std::move(watch)),
          tls(std::move(tls)) {}

    const boost::asio::any_io_executor loop;
    const ServerOptions options;
    const Handler handler;
    const ErrorBody error_body;

    DisconnectWatch watch;
    std::optional<TlsContext> tls;
    std::unordered_set<Session*> sessions;
    std::size_t refusals = 0;  // how many of the sessions are there only to say 503
    bool stopping = false;
    std::function<void()> session_ended = [] {};
};

}  // namespace kcoral::net
