// Upload: the body of one POST /execute, received.
#pragma once

#include "base/error.hpp"
#include "blob/blob.hpp"
#include "net/request.hpp"
#include "server/state.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace kcoral::server {

struct Upload {
    std::string program_text;
    std::vector<blob::BlobPtr> blobs;  // whose bytes were found to hash to their names
};

// Reads the whole body, blobs straight into memory files, hashed while they arrive. Errors are what
// Request::read_some gives, and `bad_request` for a body or a blob that breaks the contract.
boost::asio::awaitable<Result<Upload>> receive_upload(net::Request& request, State& state);

}  // namespace kcoral::server
