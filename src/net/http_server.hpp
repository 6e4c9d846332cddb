// HttpServer: an HTTP/1.1 server on one loop thread.
//
// Keep-alive and pipelining (answered in order), HEAD, chunked bodies both ways, limits on
// everything a client sends and on how slowly it may send or read. Everything runs on the loop of
// the given io_context; nothing here is safe from other threads. Creating a server makes the
// process ignore SIGPIPE.
//
// A connection beyond `max_connections` is answered 503 and closed. A client that is too slow in
// the middle of a request gets a 408; one that is idle between requests is closed without a word.
#pragma once

#include "net/request.hpp"
#include "net/tls.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kcoral::net {

struct ServerOptions {
    std::string address = "127.0.0.1";  // IPv4, IPv6 (with or without brackets) or a host name
    std::uint16_t port = 0;             // 0: any free one
    int backlog = 4096;
    std::size_t max_connections = 10'000;

    std::size_t max_head_bytes = 32 << 10;  // request line and headers together
    std::size_t max_line_bytes = 16 << 10;  // each of them
    std::size_t max_header_count = 100;
    std::uint64_t max_body_bytes = 256 << 20;

    // From the first byte of a request (or the start of a TLS connection) to the end of its head.
    std::chrono::milliseconds head_timeout{20'000};
    // For the first byte of a request, also on a new connection.
    std::chrono::milliseconds idle_timeout{75'000};
    // While a body is read or an answer sent, at least `min_progress_bytes` must pass in each
    // `progress_timeout` spent waiting for the client.
    std::chrono::milliseconds progress_timeout{30'000};
    std::size_t min_progress_bytes = 4 << 10;

    // An unread rest of a body up to this size is read and dropped to keep the connection...
    std::uint64_t max_drain_bytes = 256 << 10;
    // ...a larger one is read for this long, so that the client sees the answer before the close.
    std::chrono::milliseconds linger_timeout{5'000};

    std::size_t body_buffer_bytes = 256 << 10;  // for each large body while it arrives

    std::optional<TlsServerOptions> tls;
};

class HttpServer {
  public:
    // Binds and listens, so that the port is known and nobody else's; nothing is accepted yet.
    // Handler and error_body are called on the loop.
    static Result<std::unique_ptr<HttpServer>> create(boost::asio::io_context& loop,
                                                      ServerOptions options, Handler handler,
                                                      ErrorBody error_body);

    virtual ~HttpServer() = default;  // closes every connection at once

    virtual void start() = 0;

    virtual std::uint16_t port() const = 0;
    // "http://127.0.0.1:8000", with the port in use.
    virtual std::string url() const = 0;
    virtual std::size_t connection_count() const = 0;

    // Stops accepting, closes idle connections, lets requests in flight finish and closes theirs.
    // At the deadline the rest is cut off: on_disconnect is called, and the handler's coroutine is
    // cancelled. Returns when all connections are gone, or a second after the deadline when a
    // handler does not heed that; it is then destroyed with the io_context. Call once.
    virtual boost::asio::awaitable<void> stop(std::chrono::steady_clock::time_point deadline) = 0;

    // Reads certificate and key again for connections to come; on failure the old ones stay.
    virtual Result<void> reload_tls() = 0;
};

}  // namespace kcoral::net
