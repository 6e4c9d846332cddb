// MultipartReader: an incremental parser of multipart/form-data bodies.
//
// Fed with the body in pieces of any size, it tells a sink of the same parts with the same bytes
// however the body was cut. Part data goes out as views into the input; nothing is copied or kept
// but a part's header lines and the state of one delimiter line. A line may end in CRLF or in LF; a
// part whose header ends in bare LF ends in one too, so that data ending in CR survives. Preamble
// and epilogue are skipped. After an error the reader must not be fed any more.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kcoral::protocol {

struct MultipartLimits {
    std::size_t max_header_bytes = 16 * 1024;  // of one part, all lines together
    std::size_t max_parts = 100'000;
};

struct PartHead {
    std::string name;
    std::string content_type;  // "type/subtype" in lowercase, without parameters
    std::optional<std::string> filename;

    bool operator==(const PartHead&) const = default;
};

// Told of each part in turn: begin, data (any number of times, never empty), end. An error ends the
// parse and is what feed() or finish() returns.
class MultipartSink {
  public:
    virtual ~MultipartSink() = default;
    virtual Result<void> part_begin(const PartHead& head) = 0;
    // The bytes are valid only during the call.
    virtual Result<void> part_data(ByteView bytes) = 0;
    virtual Result<void> part_end() = 0;
};

class MultipartReader {
  public:
    // The sink must outlive the reader.
    MultipartReader(std::string_view boundary, MultipartLimits limits, MultipartSink& sink);

    // `bad_request` for a malformed body, else the sink's own error.
    Result<void> feed(ByteView bytes);
    // The body is over; `bad_request` when its closing boundary was missing.
    Result<void> finish();

  private:
    enum class State {
        preamble,  // before the first delimiter
        header,    // lines of a part's head
        data,      // a part's bytes
        epilogue,  // after the closing delimiter
    };

    std::size_t feed_body(std::string_view input, Result<void>& outcome);
    std::size_t feed_header(std::string_view input, Result<void>& outcome);
    std::size_t scan(std::string_view input, Result<void>& outcome);
    Result<void> give(std::string_view data);
    Result<void> give_back();
    Result<void> delimiter_found();
    void expect_line_start();

    MultipartLimits limits_;
    MultipartSink& sink_;
    std::string delimiter_;  // "\r\n--boundary"

    State state_ = State::preamble;
    std::size_t parts_ = 0;
    std::string header_;    // lines so far, each ended by LF
    bool bare_lf_ = false;  // this part ends in LF, not CRLF

    // The delimiter line being matched: how much of delimiter_ was seen, from which of its bytes
    // on that is data if the match fails, and what followed it.
    std::size_t matched_ = 0;
    std::size_t held_from_ = 0;
    std::string tail_;
};

// The boundary of a request's or response's Content-Type, which must be multipart/form-data.
// `bad_request` when it is another type or the boundary is missing, empty or not allowed.
Result<std::string> parse_content_type_boundary(std::string_view header);

// The head of a part from its header lines: exactly one Content-Disposition (form-data with one
// non-empty name) and one Content-Type, not multipart; no transfer encoding but binary and 8bit.
Result<PartHead> parse_part_head(std::string_view lines);

}  // namespace kcoral::protocol
