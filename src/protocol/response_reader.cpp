// The response's bookkeeping: what the document promised against what came.
#include "protocol/response_reader.hpp"

#include "protocol/header_value.hpp"
#include "protocol/quote.hpp"

#include <fmt/format.h>

namespace kcoral::protocol {
namespace {

Failure violation(std::string message) {
    return failure(ErrorCode::protocol, "response: " + std::move(message));
}

// What is a bad request to a server that reads it is a broken agreement to a client.
template <typename T>
Result<T> from_multipart(Result<T> result) {
    if (result || result.error().code != ErrorCode::bad_request) return result;
    return violation(std::move(result.error().message));
}

}  // namespace

Result<std::unique_ptr<ResponseReader>> ResponseReader::create(int http_status,
                                                               std::string_view content_type,
                                                               PartSink& sink,
                                                               ResponseLimits limits) {
    std::unique_ptr<ResponseReader> reader(new ResponseReader(http_status, sink, limits));
    TRY_ASSIGN(HeaderValue type, from_multipart(parse_header_value(content_type)));
    if (type.value == "multipart/form-data") {
        TRY_ASSIGN(std::string boundary, from_multipart(parse_content_type_boundary(content_type)));
        MultipartSink& sink_of_multipart = *reader;  // private: not for emplace() to see
        reader->multipart_.emplace(boundary, limits.multipart, sink_of_multipart);
    } else if (type.value != "application/json") {
        return violation(
            fmt::format("expected JSON or multipart/form-data, got HTTP status {} with "
                        "Content-Type {}",
                        http_status, quote(content_type)));
    }
    return reader;
}

ResponseReader::ResponseReader(int http_status, PartSink& sink, ResponseLimits limits)
    : http_status_(http_status), sink_(sink), limits_(limits) {}

Result<void> ResponseReader::feed(ByteView bytes) {
    if (!multipart_) return append_document(bytes);
    return from_multipart(multipart_->feed(bytes));
}

Result<Response> ResponseReader::finish() {
    if (!multipart_) {
        TRY(document_complete());
        if (!parts_.empty()) return violation("its values name parts, but it is not multipart");
        return std::move(*response_);
    }
    TRY(from_multipart(multipart_->finish()));
    if (!response_) return violation("the multipart body has no part \"result\"");
    if (parts_.empty()) return violation("it is multipart, but its values name no parts");
    if (parts_done_ < parts_.size())
        return violation(fmt::format("the part {} is missing", quote(part_name(parts_done_))));
    return std::move(*response_);
}

Result<void> ResponseReader::part_begin(const PartHead& head) {
    bool is_document = !response_;
    std::string name = is_document ? "result" : part_name(parts_done_);
    std::string_view type = is_document ? "application/json" : "application/octet-stream";
    if (!is_document && parts_done_ == parts_.size())
        return violation("no value names the part " + quote(head.name));
    if (head.name != name)
        return violation(
            fmt::format("expected the part {}, got {}", quote(name), quote(head.name)));
    if (head.content_type != type)
        return violation(fmt::format("the part {} must be {}, not {}", quote(name), type,
                                     quote(head.content_type)));
    if (is_document) return {};
    received_ = 0;
    std::optional<std::uint64_t> size = parts_[parts_done_]->size;
    if (size == Part::unknown_size) size.reset();
    return sink_.part_begin(parts_done_, size);
}

Result<void> ResponseReader::part_data(ByteView bytes) {
    if (!response_) return append_document(bytes);
    const Part& part = *parts_[parts_done_];
    received_ += bytes.size();
    if (received_ > part.size)
        return violation(fmt::format("the part {} has more than its {} bytes",
                                     quote(part_name(parts_done_)), part.size));
    hasher_.update(bytes);
    return sink_.part_data(bytes);
}

Result<void> ResponseReader::part_end() {
    if (!response_) return document_complete();
    Part& part = *parts_[parts_done_];
    if (part.size != Part::unknown_size && received_ != part.size)
        return violation(fmt::format("the part {} has {} bytes, not {}",
                                     quote(part_name(parts_done_)), received_, part.size));
    part.size = received_;
    if (hasher_.finish() != part.digest)
        return violation(fmt::format("the digest of the part {} does not match its bytes",
                                     quote(part_name(parts_done_))));
    ++parts_done_;
    return sink_.part_end();
}

Result<void> ResponseReader::append_document(ByteView bytes) {
    if (bytes.size() > limits_.max_document_bytes - document_.size())
        return failure(ErrorCode::too_large,
                       fmt::format("the document of the response is larger than {} bytes",
                                   limits_.max_document_bytes));
    document_ += as_text(bytes);
    return {};
}

Result<void> ResponseReader::document_complete() {
    TRY_ASSIGN(Response response, decode_response(document_));
    document_ = {};
    bool is_error = std::holds_alternative<ErrorReply>(response);
    if (is_error ? http_status_ < 400 : http_status_ != 200)
        return violation(fmt::format("HTTP status {} does not go with {}", http_status_,
                                     is_error ? "an ERROR" : "a program's outcome"));
    response_ = std::move(response);
    auto* execution = std::get_if<Execution>(&*response_);
    if (!execution) return {};
    for (ValueMember& result : execution->results)
        for_each_part(result.value, [&](Part& part) { parts_.push_back(&part); });
    return {};
}

}  // namespace kcoral::protocol
