// ResponseReader: a client's view of a response to POST /execute as it arrives.
//
// Checks everything the contract promises: content types, the `result` part first, then every part
// its values name, in order, with the right length and digest; and that the HTTP status fits the
// document. Any violation is `protocol`. Parts go to the sink as they come, after the response's
// document is known; their digests are verified by the time part_end() is called.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/multipart_reader.hpp"
#include "protocol/response.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::protocol {

struct ResponseLimits {
    // However many parts there are, the document must have named each.
    MultipartLimits multipart{.max_parts = std::numeric_limits<std::size_t>::max()};
    std::size_t max_document_bytes = std::size_t{256} << 20;
};

class PartSink {
  public:
    virtual ~PartSink() = default;
    // Parts come in the order of their index. `size` of the part of a `bytes` value is not known.
    virtual Result<void> part_begin(std::uint32_t index, std::optional<std::uint64_t> size) = 0;
    // The bytes are valid only during the call.
    virtual Result<void> part_data(ByteView bytes) = 0;
    virtual Result<void> part_end() = 0;
};

class ResponseReader : private MultipartSink {
  public:
    // The sink must outlive the reader.
    static Result<std::unique_ptr<ResponseReader>> create(int http_status,
                                                          std::string_view content_type,
                                                          PartSink& sink,
                                                          ResponseLimits limits = {});

    // Nothing may be fed after an error.
    Result<void> feed(ByteView bytes);
    // The body is over: the response, all its parts' sizes known.
    Result<Response> finish();

  private:
    ResponseReader(int http_status, PartSink& sink, ResponseLimits limits);

    Result<void> part_begin(const PartHead& head) override;
    Result<void> part_data(ByteView bytes) override;
    Result<void> part_end() override;
    Result<void> append_document(ByteView bytes);
    Result<void> document_complete();

    const int http_status_;
    PartSink& sink_;
    const ResponseLimits limits_;
    std::optional<MultipartReader> multipart_;  // absent: the body is the document

    std::string document_;
    std::optional<Response> response_;  // once the document is complete
    std::vector<Part*> parts_;          // within response_, in order
    std::uint32_t parts_done_ = 0;
    std::uint64_t received_ = 0;  // bytes of the current part
    Sha256 hasher_;
};

}  // namespace kcoral::protocol
