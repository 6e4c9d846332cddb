// HttpClient: HTTP/1.1 requests to one server, over connections that are used again.
//
// Everything runs on the given executor's loop; not safe from other threads. Any number of requests
// may run at once, each on a connection of its own. Cancelling an awaiting coroutine ends the
// request and closes its connection.
//
// A kept connection is looked at before it is used again, and one that the server closed is
// replaced. A GET or HEAD whose kept connection breaks before the first byte of an answer is sent
// once more on a new one; nothing else is ever sent twice.
#pragma once

#include "net/http_message.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

namespace kcoral::net {

struct ClientOptions {
    Url base;
    Headers headers;  // sent with every request

    std::chrono::milliseconds connect_timeout{10'000};  // name lookup, TCP and TLS together
    // While a body is sent or received, at least `min_progress_bytes` must pass in each of these.
    std::chrono::milliseconds progress_timeout{60'000};
    std::size_t min_progress_bytes = 1;

    std::size_t max_head_bytes = 64 << 10;
    std::size_t body_buffer_bytes = 256 << 10;

    std::size_t max_idle_connections = 8;
    // Shorter than servers wait, so that a request does not meet a closing connection.
    std::chrono::milliseconds max_idle_time{15'000};

    TlsClientOptions tls;
};

struct ClientRequest {
    std::string method = "GET";
    std::string target = "/";  // put behind the base URL's prefix
    Headers headers;           // Host, Connection and the body's length are added
    Pieces body;
    // From the last byte sent to the last byte of the answer's head; absent: for ever.
    std::optional<std::chrono::milliseconds> response_timeout;
};

// How far an exchange came before it failed, so whether the server may have acted on it.
enum class Stage {
    connect,   // there was no connection
    unsent,    // there was one, but not a byte of the request left us
    response,  // the request was sent, in part at least; the answer is missing or broken
};

struct [[nodiscard]] ClientError {
    Stage stage;
    Error error;
};

// An answer whose head has arrived. Dropping it before its body is read closes the connection.
class ClientResponse {
  public:
    virtual ~ClientResponse() = default;

    virtual unsigned status() const = 0;
    virtual const Headers& headers() const = 0;
    virtual std::optional<std::uint64_t> content_length() const = 0;

    // The next bytes of the body, valid until the next call; empty at the end and ever after.
    // Failures are all of Stage::response: timeout, closed, protocol, cancelled.
    virtual boost::asio::awaitable<Result<ByteView>> read_some() = 0;

    // The rest of the body; too_large when it has more than `limit` bytes.
    virtual boost::asio::awaitable<Result<std::string>> read_all(std::size_t limit) = 0;
};

using ClientResult = std::expected<std::unique_ptr<ClientResponse>, ClientError>;

class HttpClient {
  public:
    // Fails when the TLS options name files that cannot be used.
    static Result<std::unique_ptr<HttpClient>> create(boost::asio::any_io_executor loop,
                                                      ClientOptions options);
    virtual ~HttpClient() = default;  // after its requests; responses may outlive it, not the loop

    // Returns once the answer's head is there. An answer that comes while the body is still being
    // sent ends the sending.
    virtual boost::asio::awaitable<ClientResult> send(ClientRequest request) = 0;
};

}  // namespace kcoral::net
