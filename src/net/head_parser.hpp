// Reading the heads of requests and responses, and refusing those that two readers could
// understand differently.
//
// Beast parses; what it is lenient about (folded lines, repeated lengths, odd encodings) is
// refused here, because a proxy in front of us may read it in another way.
#pragma once

#include "net/http_message.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace kcoral::net {

struct HeadLimits {
    std::size_t max_line_bytes;  // without its line ending
    std::size_t max_header_count;
};

struct HeadFault {
    unsigned status;
    std::string message;
};

struct ResponseHead {
    unsigned status = 0;
    Headers headers;
    bool keep_alive = true;
    bool chunked = false;
    std::optional<std::uint64_t> content_length;
};

// Where the head that `bytes` begin with ends, behind its empty line. `searched`: how many bytes
// were looked at before, in vain.
std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t searched);

// `bytes` are one whole head. The peer is left for the caller to fill in.
std::expected<RequestHead, HeadFault> parse_request_head(std::string_view bytes,
                                                         const HeadLimits& limits);
Result<ResponseHead> parse_response_head(std::string_view bytes, const HeadLimits& limits);

}  // namespace kcoral::net
