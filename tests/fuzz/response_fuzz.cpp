// Responses. Input: an HTTP status, LF, a Content-Type, LF, a body.
//
// However a response is cut, the outcome is the same; a document that was read can be written and
// read again. The body is also tried as a document, as a worker's value and as /health.
#include "check.hpp"
#include "protocol/response.hpp"
#include "protocol/response_reader.hpp"
#include "protocol/value.hpp"

#include <charconv>

namespace kcoral::fuzz {
namespace {

using namespace protocol;

struct PartLog : PartSink {
    std::string events;

    Result<void> part_begin(std::uint32_t index, std::optional<std::uint64_t> size) override {
        events += '<' + std::to_string(index) + ' ' + (size ? std::to_string(*size) : "?") + ' ';
        return {};
    }
    Result<void> part_data(ByteView bytes) override {
        events += as_text(bytes);
        return {};
    }
    Result<void> part_end() override {
        events += '>';
        return {};
    }
};

std::string write(const Response& response) {
    return std::visit([](const auto& document) { return to_text(document); }, response);
}

void run_reader(int status, std::string_view content_type, std::string_view body) {
    PartLog whole;
    auto reader = ResponseReader::create(status, content_type, whole);
    if (!reader) return;
    Result<void> fed = (*reader)->feed(as_bytes(body));
    Result<Response> response = fed ? (*reader)->finish() : Failure(std::move(fed.error()));

    PartLog cut;
    auto again = ResponseReader::create(status, content_type, cut);
    Result<Response> same = read_in_pieces(**again, body, static_cast<std::uint32_t>(body.size()));
    check(message_of(response) == message_of(same), "the outcome does not depend on the pieces");
    if (!response) {
        check(response.error().code == ErrorCode::protocol, "a bad response breaks the protocol");
        return;
    }
    check(*response == *same, "the response does not depend on the pieces");
    check(whole.events == cut.events, "the parts do not depend on the pieces");
}

void run_document(std::string_view text) {
    auto response = decode_response(text);
    if (!response) return;
    std::string written = write(*response);
    auto again = decode_response(written);
    check(again.has_value(), "a document we write can be read");
    check(write(*again) == written, "a document has one text");
}

void run_value(std::string_view text) {
    auto json = parse_json(text, {.depth = max_value_json_depth});
    if (!json) return;
    std::uint32_t next_part = 0;
    auto value = decode_value(std::move(*json), "value", Digests::absent, next_part);
    if (!value) return;
    JsonWriter writer;
    std::uint32_t written_parts = 0;
    write_value(writer, *value, Digests::absent, written_parts);
    check(written_parts == next_part, "each part is numbered once");
    auto again_json = parse_json(std::move(writer).take(), {.depth = max_value_json_depth});
    std::uint32_t again_parts = 0;
    auto again = decode_value(std::move(*again_json), "value", Digests::absent, again_parts);
    check(again.has_value() && *again == *value, "a value we write is the same value");
}

void run_health(std::string_view text) {
    auto health = decode_health(text);
    if (!health) return;
    auto again = decode_health(to_text(*health));
    check(again.has_value() && *again == *health, "health we write is the same");
}

void run(std::string_view input) {
    std::string_view digits = take_line(input);
    int status = 200;
    std::from_chars(digits.data(), digits.data() + digits.size(), status);
    std::string_view content_type = take_line(input);
    run_reader(status, content_type, input);
    run_document(input);
    run_value(input);
    run_health(input);
}

}  // namespace
}  // namespace kcoral::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    kcoral::fuzz::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
