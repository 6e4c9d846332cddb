// Heads as text; bodies by writev and sendfile.
#include "net/message_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <utility>

namespace kcoral::net {

namespace {

// How far the sending of a head and its pieces has come.
class Cursor {
  public:
    Cursor(std::string_view head, const Pieces& pieces) : head_(as_bytes(head)), pieces_(pieces) {
        skip_empty();
    }

    bool at_end() const { return index_ == pieces_.size() + 1; }

    // The file at hand, if it is a file's turn.
    const FileRange* file() const {
        return index_ == 0 ? nullptr : std::get_if<FileRange>(&pieces_[index_ - 1]);
    }
    std::uint64_t offset() const { return offset_; }

    // Everything in memory from here to the next file, as far as it fits.
    std::span<const iovec> gather() {
        std::size_t count = 0;
        std::uint64_t offset = offset_;
        std::size_t index = index_;
        for (; index <= pieces_.size() && count < parts_.size(); ++index, offset = 0) {
            if (is_file(index)) break;
            ByteView bytes = memory(index).subspan(offset);
            if (bytes.empty()) continue;
            parts_[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
        }
        more_ = index <= pieces_.size() ? More::yes : More::no;
        return {parts_.data(), count};
    }
    // Does anything follow what gather() gave?
    More more() const { return more_; }

    void advance(std::uint64_t bytes) {
        while (bytes > 0) {
            std::uint64_t step = std::min(bytes, size(index_) - offset_);
            bytes -= step;
            offset_ += step;
            skip_empty();
        }
    }

  private:
    bool is_file(std::size_t index) const {
        return index > 0 && std::holds_alternative<FileRange>(pieces_[index - 1]);
    }
    ByteView memory(std::size_t index) const {
        if (index == 0) return head_;
        const Piece& piece = pieces_[index - 1];
        if (auto* text = std::get_if<std::string>(&piece)) return as_bytes(*text);
        return std::get<SharedBytes>(piece).bytes;
    }
    std::uint64_t size(std::size_t index) const {
        return index == 0 ? head_.size() : size_of(pieces_[index - 1]);
    }
    void skip_empty() {
        while (!at_end() && offset_ == size(index_)) {
            ++index_;
            offset_ = 0;
        }
    }

    ByteView head_;
    const Pieces& pieces_;
    std::size_t index_ = 0;     // 0 is the head, n the piece n - 1
    std::uint64_t offset_ = 0;  // within it
    std::array<iovec, 32> parts_;
    More more_ = More::no;
};

bool is_decided_by_sender(std::string_view name) {
    for (std::string_view decided : {"Connection", "Content-Length", "Transfer-Encoding", "Date"})
        if (same_ignoring_case(name, decided)) return true;
    return false;
}

bool is_token(std::string_view text) {
    auto in_token = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").contains(c);
    };
    return !text.empty() && std::ranges::all_of(text, in_token);
}

}  // namespace

bool fits_in_line(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && byte != '\t') || byte == 0x7f;
    });
}

bool append_headers(std::string& head, const Headers& headers) {
    for (const Header& field : headers) {
        if (is_decided_by_sender(field.name)) continue;
        if (!is_token(field.name) || !fits_in_line(field.value)) return false;
        head.append(field.name).append(": ").append(field.value).append("\r\n");
    }
    return true;
}

std::string_view http_date() {
    thread_local std::time_t second = -1;
    thread_local std::string text;
    std::time_t now = std::time(nullptr);
    if (now != second) {
        second = now;
        std::tm parts;
        ::gmtime_r(&now, &parts);
        constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        text = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[parts.tm_wday],
                           parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour,
                           parts.tm_min, parts.tm_sec);
    }
    return text;
}

bool is_bodiless(unsigned status) {
    return status < 200 || status == 204 || status == 304;
}

std::optional<std::string> make_response_head(const Response& response, Persistence persistence,
                                              bool http_1_0) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                                   reason_phrase(response.status), http_date());
    if (!append_headers(head, response.headers)) return std::nullopt;
    if (persistence == Persistence::close)
        head += "Connection: close\r\n";
    else if (http_1_0)
        head += "Connection: keep-alive\r\n";
    if (!is_bodiless(response.status)) {
        if (!response.stream)
            head += fmt::format("Content-Length: {}\r\n", size_of(response.body));
        else if (!http_1_0)
            head += "Transfer-Encoding: chunked\r\n";
    }
    head += "\r\n";
    return head;
}

boost::asio::awaitable<Result<void>> send(Connection& connection, std::string_view head,
                                          const Pieces& pieces, const SendOptions& options) {
    Cursor cursor(head, pieces);
    Progress progress(options.progress);
    while (!cursor.at_end()) {
        if (connection.owes_a_turn()) co_await connection.give_turn();
        Result<Step> step = Step{Step::Kind::done};
        if (auto* range = cursor.file())
            step = connection.send_file(range->file->get(), range->offset + cursor.offset(),
                                        range->length - cursor.offset());
        else {
            auto parts = cursor.gather();
            step = connection.write(parts, cursor.more());
        }
        if (!step) co_return Failure(std::move(step).error());
        if (step->kind == Step::Kind::done) {
            cursor.advance(step->bytes);
            progress.moved(step->bytes);
            if (options.sent) *options.sent += step->bytes;
            continue;
        }
        if (options.enough && options.enough()) break;
        auto ready = co_await connection.wait(step->kind, progress);
        if (!ready) co_return ready;
    }
    co_return Result<void>();
}

boost::asio::awaitable<Result<void>> send_stream(Connection& connection, std::string_view head,
                                                 Pieces& first, BodyStream& stream, bool chunked,
                                                 const SendOptions& options) {
    std::string lead(head);
    Result<Pieces> pieces = std::move(first);
    bool last = false;
    while (!last) {
        std::uint64_t size = size_of(*pieces);
        if (chunked && size > 0) {
            lead += fmt::format("{:x}\r\n", size);
            pieces->emplace_back("\r\n");
        }
        auto sent = co_await send(connection, lead, *pieces, options);
        if (!sent) co_return sent;
        pieces = co_await stream.next();
        if (!pieces) co_return Failure(std::move(pieces).error());
        last = pieces->empty();
        lead.clear();
    }
    if (!chunked) co_return Result<void>();
    Pieces none;
    co_return co_await send(connection, "0\r\n\r\n", none, options);
}

}  // namespace kcoral::net
