// Exchange: one kind of request that the load generator sends again and again, and how a right
// answer to it looks.
#pragma once

#include "base/error.hpp"
#include "net/http_message.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kcoral::bench {

struct Exchange {
    std::string method;
    std::string target;
    net::Headers headers;
    net::Pieces body;                 // small text, or files that are sent from the page cache
    std::uint64_t payload_bytes = 0;  // what MB/s counts
    std::function<Result<void>(unsigned status, std::string_view body)> check;
};

// GET /health.
Exchange health_exchange();

// A module of one function, called once, its result returned.
Exchange program_exchange();

// A program that comes with one blob of `bytes` and names another that no server has: the answer,
// CACHE_MISS, comes once the blob is received, hashed and cached, and no worker is needed. The blob
// lies in a memory file and is sent from there, so that sending costs the machine little.
Result<Exchange> upload_exchange(std::uint64_t bytes);

}  // namespace kcoral::bench
