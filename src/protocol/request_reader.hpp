// RequestReader: the body of POST /execute as it arrives, its parts checked by name and type.
//
// The program's text is collected; blobs are handed on as they come. Whether a blob's bytes hash to
// its name is for the sink's owner to check, once it has hashed them.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/multipart_reader.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace kcoral::protocol {

struct RequestLimits {
    MultipartLimits multipart;
    std::size_t max_program_bytes = std::numeric_limits<std::size_t>::max();
};

// Told of each blob in turn: begin, data (any number of times), end. An error ends the parse.
class BlobSink {
  public:
    virtual ~BlobSink() = default;
    virtual Result<void> blob_begin(const Digest& digest) = 0;
    // The bytes are valid only during the call.
    virtual Result<void> blob_data(ByteView bytes) = 0;
    virtual Result<void> blob_end() = 0;
};

class RequestReader : private MultipartSink {
  public:
    // The sink must outlive the reader.
    RequestReader(std::string_view boundary, RequestLimits limits, BlobSink& sink);
    RequestReader(const RequestReader&) = delete;

    // `bad_request` for a malformed body, `too_large` when the program is beyond its limit, else
    // the sink's own error. Nothing may be fed after an error.
    Result<void> feed(ByteView bytes) { return reader_.feed(bytes); }
    // The body is over: the text of its program part.
    Result<std::string> finish();

  private:
    Result<void> part_begin(const PartHead& head) override;
    Result<void> part_data(ByteView bytes) override;
    Result<void> part_end() override;

    const std::size_t max_program_bytes_;
    BlobSink& sink_;
    std::optional<std::string> program_;
    std::set<Digest> blobs_;
    bool in_program_ = false;
    MultipartReader reader_;
};

}  // namespace kcoral::protocol
