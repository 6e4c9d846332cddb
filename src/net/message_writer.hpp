// Sending messages: their heads as text, and pieces gathered into as few system calls as possible.
#pragma once

#include "base/error.hpp"
#include "net/connection.hpp"
#include "net/http_message.hpp"
#include "net/progress.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kcoral::net {

// Can `text` stand in a head, as a header's value or a target, without ending its line?
bool fits_in_line(std::string_view text);

// "Name: value" lines of all fields but those that the sender of a message decides on (Connection,
// Content-Length, Transfer-Encoding, Date). False when a field would break the head.
bool append_headers(std::string& head, const Headers& headers);

// What the Date header says now; computed once a second. Valid until the next call in this thread.
std::string_view http_date();

enum class Persistence { close, keep };

// The head of an answer, with the headers that the sender decides on. Nothing when the response
// has a header that would break it. `http_1_0`: what the client speaks.
std::optional<std::string> make_response_head(const Response& response, Persistence persistence,
                                              bool http_1_0);

// Does an answer of this status come without a body, whatever it holds?
bool is_bodiless(unsigned status);

struct SendOptions {
    ProgressLimit progress;
    // Asked before each wait: true ends the sending, as if all had been sent.
    std::function<bool()> enough;
    // Counts what was handed to the kernel, also when sending fails.
    std::uint64_t* sent = nullptr;
};

// Sends `head`, then the pieces. Both stay where they are until it returns.
boost::asio::awaitable<Result<void>> send(Connection& connection, std::string_view head,
                                          const Pieces& pieces, const SendOptions& options);

// Sends `head` and `first`, then what `stream` gives until its end: chunk by chunk or, for
// HTTP/1.0, bare.
boost::asio::awaitable<Result<void>> send_stream(Connection& connection, std::string_view head,
                                                 Pieces& first, BodyStream& stream, bool chunked,
                                                 const SendOptions& options);

}  // namespace kcoral::net
