// Which parts a request may have.
#include "protocol/request_reader.hpp"

#include "protocol/quote.hpp"

#include <fmt/format.h>

namespace kcoral::protocol {
namespace {

constexpr std::string_view blob_prefix = "blob:";

Failure bad(std::string message) {
    return failure(ErrorCode::bad_request, std::move(message));
}

}  // namespace

RequestReader::RequestReader(std::string_view boundary, RequestLimits limits, BlobSink& sink)
    : max_program_bytes_(limits.max_program_bytes),
      sink_(sink),
      reader_(boundary, limits.multipart, *this) {}

Result<std::string> RequestReader::finish() {
    TRY(reader_.finish());
    if (!program_) return bad("the body has no part named \"program\"");
    return std::move(*program_);
}

Result<void> RequestReader::part_begin(const PartHead& head) {
    std::string_view name = head.name;
    bool is_program = name == "program";
    if (!is_program && !name.starts_with(blob_prefix))
        return bad("a part must be named \"program\" or \"blob:<sha256>\", not " + quote(name));
    std::string_view type = is_program ? "application/json" : "application/octet-stream";
    if (head.content_type != type)
        return bad(fmt::format("the part {} must be {}, not {}", quote(name), type,
                               quote(head.content_type)));
    in_program_ = is_program;
    if (is_program) {
        if (program_) return bad("the part \"program\" is there twice");
        program_.emplace();
        return {};
    }
    auto digest = Digest::from_hex(name.substr(blob_prefix.size()));
    if (!digest)
        return bad("expected 64 lowercase hexadecimal digits after \"blob:\" in the part name " +
                   quote(name));
    if (!blobs_.insert(*digest).second)
        return bad(fmt::format("the part {} is there twice", quote(name)));
    return sink_.blob_begin(*digest);
}

Result<void> RequestReader::part_data(ByteView bytes) {
    if (!in_program_) return sink_.blob_data(bytes);
    if (bytes.size() > max_program_bytes_ - program_->size())
        return failure(ErrorCode::too_large,
                       fmt::format("the program is larger than {} bytes", max_program_bytes_));
    program_->append(as_text(bytes));
    return {};
}

Result<void> RequestReader::part_end() {
    if (in_program_) return {};
    return sink_.blob_end();
}

}  // namespace kcoral::protocol
