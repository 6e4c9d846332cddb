// The push parser: long stretches of data by searching, delimiter lines byte by byte.
//
// A boundary holds no line end, so a delimiter can begin only at a CR or LF: when a match fails,
// what was held is data and the search goes on at the very byte that did not fit.
#include "protocol/multipart_reader.hpp"

#include "protocol/quote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kcoral::protocol {
namespace {

// Blanks that may follow a boundary on its line: more make it an ordinary line.
constexpr std::size_t max_padding = 256;

std::size_t find(std::string_view text, std::string_view wanted) {
    // The C library's search is many times as fast as std::string_view's.
    const void* found = memmem(text.data(), text.size(), wanted.data(), wanted.size());
    if (!found) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Can the line of a delimiter go on with this byte?
bool extends_line_end(std::string_view line_end, char c) {
    if (line_end.ends_with('\r') || line_end.size() > max_padding) return false;
    if (line_end == "-") return c == '-';
    return c == ' ' || c == '\t' || c == '\r' || (c == '-' && line_end.empty());
}

}  // namespace

MultipartReader::MultipartReader(std::string_view boundary, MultipartLimits limits,
                                 MultipartSink& sink)
    : limits_(limits), sink_(sink), delimiter_("\r\n--" + std::string(boundary)) {}

Result<void> MultipartReader::feed(ByteView bytes) {
    std::string_view input = as_text(bytes);
    while (!input.empty()) {
        if (state_ == State::epilogue) break;
        Result<std::size_t> used = state_ == State::header        ? read_header(input)
                                   : matched_ == 0                ? scan(input)
                                   : matched_ < delimiter_.size() ? match_delimiter(input)
                                                                  : match_line_end(input);
        TRY(used);
        input.remove_prefix(*used);
    }
    return {};
}

Result<void> MultipartReader::finish() {
    // The closing delimiter line may lack its line end.
    bool may_match = state_ == State::preamble || state_ == State::data;
    if (may_match && matched_ == delimiter_.size() && line_end_.starts_with("--"))
        TRY(delimiter_found());
    if (state_ == State::epilogue) return {};
    return failure(ErrorCode::bad_request,
                   fmt::format("the multipart body ends {} without its closing boundary {}",
                               state_ == State::preamble ? "before any part,"
                               : state_ == State::header ? "within a part's header,"
                                                         : "within a part's data,",
                               quote(delimiter_.substr(2) + "--")));
}

Result<std::size_t> MultipartReader::read_header(std::string_view input) {
    std::size_t line_end = input.find('\n');
    std::size_t used = line_end == std::string_view::npos ? input.size() : line_end + 1;
    header_bytes_ += used;
    if (header_bytes_ > limits_.max_header_bytes)
        return failure(ErrorCode::bad_request, fmt::format("the header of a part is larger than {} "
                                                           "bytes",
                                                           limits_.max_header_bytes));
    header_ += input.substr(0, used);
    if (line_end == std::string_view::npos) return used;

    bool bare_lf = !header_.ends_with("\r\n");
    if (!bare_lf) header_.erase(header_.size() - 2, 1);
    if (header_.size() - line_begin_ > 1) {
        line_begin_ = header_.size();
        return used;
    }
    // An empty line: the head is complete.
    TRY_ASSIGN(PartHead head, parse_part_head(header_));
    TRY(sink_.part_begin(head));
    state_ = State::data;
    bare_lf_ = bare_lf;
    hold(2, 2);
    return used;
}

// Looks for the next delimiter; data before it goes out, what may be its beginning is held.
Result<std::size_t> MultipartReader::scan(std::string_view input) {
    const std::string_view wanted = std::string_view(delimiter_).substr(1);
    std::size_t end = find(input, wanted);
    std::size_t seen = wanted.size();
    if (end == std::string_view::npos) {
        // Only the last LF can begin a delimiter that the input does not hold whole.
        std::size_t window = input.size() - std::min(input.size(), wanted.size() - 1);
        std::size_t last = input.substr(window).rfind('\n');
        bool begins =
            last != std::string_view::npos && wanted.starts_with(input.substr(window + last));
        end = begins ? window + last : input.size();
        seen = input.size() - end;
    }
    bool with_cr = !bare_lf_ && end > 0 && input[end - 1] == '\r';
    TRY(give(input.substr(0, with_cr ? end - 1 : end)));
    if (with_cr)
        hold(0, 1 + seen);
    else if (seen > 0)
        hold(1, 1 + seen);
    return end + seen;
}

Result<std::size_t> MultipartReader::match_delimiter(std::string_view input) {
    if (input.front() == delimiter_[matched_]) {
        ++matched_;
        return 1;
    }
    TRY(let_go());
    return 0;
}

Result<std::size_t> MultipartReader::match_line_end(std::string_view input) {
    char next = input.front();
    if (next == '\n' && line_end_ != "-") {
        TRY(delimiter_found());
        return 1;
    }
    if (extends_line_end(line_end_, next)) {
        line_end_ += next;
        return 1;
    }
    TRY(let_go());
    return 0;
}

void MultipartReader::hold(std::size_t from, std::size_t to) {
    held_from_ = from;
    matched_ = to;
    line_end_.clear();
}

// What was held is no delimiter line.
Result<void> MultipartReader::let_go() {
    std::string held = delimiter_.substr(held_from_, matched_ - held_from_) + line_end_;
    hold(0, 0);
    return give(held);
}

Result<void> MultipartReader::give(std::string_view data) {
    if (state_ != State::data || data.empty()) return {};
    return sink_.part_data(as_bytes(data));
}

Result<void> MultipartReader::delimiter_found() {
    bool closing = line_end_.starts_with("--");
    hold(0, 0);
    if (state_ == State::data) TRY(sink_.part_end());
    if (closing) {
        state_ = State::epilogue;
        return {};
    }
    if (parts_ == limits_.max_parts)
        return failure(ErrorCode::bad_request,
                       fmt::format("the body has more than {} parts", limits_.max_parts));
    ++parts_;
    state_ = State::header;
    header_.clear();
    line_begin_ = 0;
    header_bytes_ = 0;
    return {};
}

}  // namespace kcoral::protocol
