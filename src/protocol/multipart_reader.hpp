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
        preamble,  // before the first delimiter line
        header,    // in the lines of a part's head
        data,      // in a part's bytes
        epilogue,  // after the closing delimiter line
    };

    // Each takes some of the input, at least one byte or a step to another state, and says how
    // much.
    Result<std::size_t> read_header(std::string_view input);
    Result<std::size_t> scan(std::string_view input);
    Result<std::size_t> match_delimiter(std::string_view input);
    Result<std::size_t> match_line_end(std::string_view input);

    void hold(std::size_t from, std::size_t to);
    Result<void> let_go();
    Result<void> give(std::string_view data);
    Result<void> delimiter_found();

    const MultipartLimits limits_;
    MultipartSink& sink_;
    const std::string delimiter_;  // "\r\n--boundary"

    State state_ = State::preamble;
    std::size_t parts_ = 0;
    std::string header_;            // complete lines and the beginning of one, each ended by LF
    std::size_t line_begin_ = 0;    // of the last line, in header_
    std::size_t header_bytes_ = 0;  // as received
    bool bare_lf_ = false;          // the lines of this part end in LF alone

    // What may turn out to be a delimiter line: delimiter_[held_from_, matched_), then line_end_.
    // Nothing is held while matched_ is 0. The body and each part's data begin as if a line had
    // just ended: with the delimiter's line end matched, but not held.
    std::size_t matched_ = 2;
    std::size_t held_from_ = 2;
    std::string line_end_;
};

// The boundary of a request's or response's Content-Type, which must be multipart/form-data.
// `bad_request` when it is another type or the boundary is missing, empty or not allowed.
Result<std::string> parse_content_type_boundary(std::string_view header);

// The head of a part from its header lines: exactly one Content-Disposition (form-data with one
// non-empty name) and one Content-Type, not multipart; no transfer encoding but binary and 8bit.
Result<PartHead> parse_part_head(std::string_view lines);

}  // namespace kcoral::protocol
