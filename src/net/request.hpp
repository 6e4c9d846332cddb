// Request: what a handler of the HTTP server gets, and the types it answers with.
#pragma once

#include "net/http_message.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kcoral::net {

// Where a request's body comes from; the server's session, or a fake in a test.
class RequestBody {
  public:
    virtual ~RequestBody() = default;
    virtual boost::asio::awaitable<Result<ByteView>> read_some() = 0;
    virtual void on_disconnect(std::function<void()> callback) = 0;
};

// One request while its handler runs. Loop thread only; gone when the handler has returned.
class Request {
  public:
    Request(const RequestHead& head, RequestBody& body) : head_(head), body_(body) {}
    Request(const Request&) = delete;

    const RequestHead& head() const { return head_; }
    const std::string& method() const { return head_.method; }
    const std::string& path() const { return head_.path; }
    bool has_query() const { return head_.query.has_value(); }
    const Headers& headers() const { return head_.headers; }
    const Peer& peer() const { return head_.peer; }
    std::optional<std::uint64_t> content_length() const { return head_.content_length; }

    // The next bytes of the body, valid until the next call; empty at the end and ever after. The
    // first call answers `Expect: 100-continue`. Fails with
    //   too_large    the body is larger than the server takes: at once when Content-Length says so,
    //                else as soon as the limit is passed
    //   timeout      the client sends too slowly
    //   bad_request  the chunked encoding is broken
    //   closed       the client is gone
    //   cancelled    the wait was cancelled
    // and after that with the same error each time. `status_of_body_error` names the answer that
    // fits; the connection is closed after it.
    boost::asio::awaitable<Result<ByteView>> read_some() { return body_.read_some(); }

    // Calls back once, from the loop, if the client's connection ends while the handler runs: it
    // was reset, or the client closed its sending side. Not called after the handler has returned;
    // an answer given later goes nowhere. A second callback replaces the first.
    void on_disconnect(std::function<void()> callback) { body_.on_disconnect(std::move(callback)); }

  private:
    const RequestHead& head_;
    RequestBody& body_;
};

// 413, 408, 400 for the errors of Request::read_some.
unsigned status_of_body_error(const Error& error);

// Answers one request. An exception ends as a 500; the server lives.
using Handler = std::function<boost::asio::awaitable<Response>(Request&)>;

// A request that ends without its handler's answer.
struct Problem {
    unsigned status;      // 400, 404, 405, 408, 414, 417, 431, 500, 501, 503, 505
    std::string message;  // a sentence for the client
    // Null when no request could be read.
    const RequestHead* head = nullptr;
};

// How the application words a problem. The server sets `Allow` (405) and closes where it must;
// status and body are taken as they are returned.
using ErrorBody = std::function<Response(const Problem&)>;

}  // namespace kcoral::net
