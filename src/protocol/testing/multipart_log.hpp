// A multipart sink that writes down what it is told, and ways to feed a body to a reader.
#pragma once

#include "protocol/multipart_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::protocol::testing {

struct SeenPart {
    PartHead head;
    std::string data;
    bool ended = false;

    bool operator==(const SeenPart&) const = default;
};

class MultipartLog : public MultipartSink {
  public:
    std::vector<SeenPart> parts;

    Result<void> part_begin(const PartHead& head) override {
        parts.push_back({head, {}, false});
        return {};
    }
    Result<void> part_data(ByteView bytes) override {
        if (bytes.empty()) return failure(ErrorCode::internal, "no data was given as data");
        parts.back().data += as_text(bytes);
        return {};
    }
    Result<void> part_end() override {
        parts.back().ended = true;
        return {};
    }
};

// Feeds the body in pieces of `piece` bytes, the first of `first`, and finishes.
template <typename Reader>
auto read_in_pieces(Reader& reader, std::string_view body, std::size_t piece, std::size_t first = 0)
    -> decltype(reader.finish()) {
    for (std::size_t length = first; !body.empty(); length = piece) {
        std::string_view now = body.substr(0, std::min(length, body.size()));
        TRY(reader.feed(as_bytes(now)));
        body.remove_prefix(now.size());
    }
    return reader.finish();
}

}  // namespace kcoral::protocol::testing
