// The words of HTTP that requests and answers are made of: header fields, body pieces, heads.
//
// Plain values, owned by whoever holds them; no thread of their own.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kcoral::net {

// Header names and the tokens of many header values do not care about case.
bool same_ignoring_case(std::string_view a, std::string_view b);

struct Header {
    std::string name;
    std::string value;
};

// Header fields in the order they came or will be sent. Lookup ignores case.
class Headers {
  public:
    Headers() = default;
    Headers(std::initializer_list<Header> fields) : fields_(fields) {}

    void add(std::string name, std::string value);
    // Replaces every field of this name by one.
    void set(std::string name, std::string value);
    void remove(std::string_view name);

    // The first value of this name.
    std::optional<std::string_view> find(std::string_view name) const;
    std::vector<std::string_view> all(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    // Is `token` an element of the comma-separated lists of this name? Ignores case.
    bool lists(std::string_view name, std::string_view token) const;

    std::size_t size() const { return fields_.size(); }
    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }

  private:
    std::vector<Header> fields_;
};

// Bytes that somebody else keeps, alive as long as `owner`.
struct SharedBytes {
    std::shared_ptr<const void> owner;
    ByteView bytes;

    SharedBytes(std::shared_ptr<const void> owner, ByteView bytes)
        : owner(std::move(owner)), bytes(bytes) {}
    explicit SharedBytes(const std::shared_ptr<const std::string>& text)
        : owner(text), bytes(as_bytes(*text)) {}
};

// A stretch of a file, sent from the page cache without a copy where the connection allows it. The
// file must not shrink meanwhile: bytes that are missing break the connection.
struct FileRange {
    std::shared_ptr<const Fd> file;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

// A body is a row of pieces, sent one after the other as they are.
using Piece = std::variant<std::string, SharedBytes, FileRange>;
using Pieces = std::vector<Piece>;

std::uint64_t size_of(const Piece& piece);
std::uint64_t size_of(const Pieces& pieces);

// A body of unknown length: gives more pieces each time it is asked, none at its end. An error
// breaks the connection, so that the peer sees an incomplete body and not a short one.
class BodyStream {
  public:
    virtual ~BodyStream() = default;
    virtual boost::asio::awaitable<Result<Pieces>> next() = 0;
};

struct Peer {
    boost::asio::ip::address address;
    std::uint16_t port = 0;

    // Also true for an IPv4 loopback address mapped into IPv6.
    bool is_loopback() const;
    std::string to_string() const;  // "127.0.0.1:80", "[::1]:80"
};

// A request without its body.
struct RequestHead {
    std::string method;
    std::string target;                // as it was sent
    std::string path;                  // the target up to the query, as it was sent
    std::optional<std::string> query;  // what follows the first `?`, even when that is nothing
    bool http_1_0 = false;
    bool keep_alive = true;
    Headers headers;
    std::optional<std::uint64_t> content_length;  // absent: no body, or a chunked one
    bool chunked = false;
    Peer peer;

    bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// An answer. The sender adds Date, Connection and the length or encoding of the body.
struct Response {
    unsigned status = 200;
    Headers headers;
    Pieces body;
    // More body after `body`, sent as chunks.
    std::unique_ptr<BodyStream> stream;
    // Close the connection after this answer, whatever the client wants.
    bool close = false;
};

Response make_response(unsigned status, std::string content_type, std::string body);

// "Not Found" for 404; "Unknown" for a status nobody has named.
std::string_view reason_phrase(unsigned status);

}  // namespace kcoral::net
