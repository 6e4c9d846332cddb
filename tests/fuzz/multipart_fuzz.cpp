// Request bodies. Input: a Content-Type, LF, a body whose first byte also says how to cut it.
//
// However a body is cut, the parts and the error are the same; parts that were read can be written
// and read again.
#include "check.hpp"
#include "protocol/multipart_reader.hpp"
#include "protocol/multipart_writer.hpp"
#include "protocol/request_reader.hpp"

#include <vector>

namespace kcoral::fuzz {
namespace {

using namespace protocol;

struct Part {
    PartHead head;
    std::string data;
    bool ended = false;

    bool operator==(const Part&) const = default;
};

struct PartLog : MultipartSink {
    std::vector<Part> parts;

    Result<void> part_begin(const PartHead& head) override {
        check(parts.empty() || parts.back().ended, "a part ends before the next begins");
        parts.push_back({head, {}, false});
        return {};
    }
    Result<void> part_data(ByteView bytes) override {
        check(!parts.empty() && !parts.back().ended, "data belongs to a part");
        check(!bytes.empty(), "data is never empty");
        parts.back().data += as_text(bytes);
        return {};
    }
    Result<void> part_end() override {
        check(!parts.empty() && !parts.back().ended, "a part ends once");
        parts.back().ended = true;
        return {};
    }
};

struct Ignore : BlobSink {
    Result<void> blob_begin(const Digest&) override { return {}; }
    Result<void> blob_data(ByteView) override { return {}; }
    Result<void> blob_end() override { return {}; }
};

void read_again(const std::vector<Part>& parts) {
    std::vector<OutgoingPart> outgoing;
    for (std::size_t i = 0; i < parts.size(); ++i)
        outgoing.push_back(
            {"part" + std::to_string(i), parts[i].head.content_type, parts[i].data.size()});
    MultipartFrame frame(outgoing);
    std::string body;
    for (std::size_t i = 0; i < parts.size(); ++i)
        body += frame.head(i) + parts[i].data;
    body += frame.closing();
    check(body.size() == frame.content_length(), "the length of a body is what was promised");

    auto boundary = parse_content_type_boundary(frame.content_type());
    check(boundary.has_value(), "our own Content-Type is valid");
    PartLog log;
    MultipartReader reader(*boundary, {}, log);
    auto result = read_in_pieces(reader, body, static_cast<std::uint32_t>(body.size()));
    check(result.has_value(), "what we write can be read");
    check(log.parts.size() == parts.size(), "no part is lost");
    for (std::size_t i = 0; i < parts.size(); ++i)
        check(log.parts[i].data == parts[i].data, "no data is changed");
}

void run(std::string_view input) {
    auto declared = parse_content_type_boundary(take_line(input));
    std::string boundary = declared ? *declared : "XX";
    std::uint32_t seed = input.empty() ? 0 : static_cast<unsigned char>(input.front());
    const MultipartLimits limits{.max_header_bytes = 300, .max_parts = 5};

    PartLog whole;
    MultipartReader reader(boundary, limits, whole);
    Result<void> outcome = reader.feed(as_bytes(input));
    if (outcome) outcome = reader.finish();

    PartLog cut;
    MultipartReader again(boundary, limits, cut);
    Result<void> same = read_in_pieces(again, input, seed);
    check(message_of(outcome) == message_of(same), "the outcome does not depend on the pieces");
    check(whole.parts == cut.parts, "the parts do not depend on the pieces");
    if (outcome) read_again(whole.parts);

    Ignore ignore;
    RequestReader request(boundary, {.multipart = limits, .max_program_bytes = 100}, ignore);
    (void)read_in_pieces(request, input, seed);
}

}  // namespace
}  // namespace kcoral::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    kcoral::fuzz::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
