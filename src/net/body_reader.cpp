// Bodies by length, in chunks, or until the connection closes.
#include "net/body_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace kcoral::net {

namespace {

// A chunk's header, or the trailers, may have this many bytes.
constexpr std::size_t max_chunk_head_bytes = 16 << 10;
constexpr std::size_t small_buffer_bytes = 16 << 10;

}  // namespace

BodyReader::BodyReader(Connection& connection, Framing framing, std::uint64_t length, Limits limits)
    : connection_(connection),
      framing_(framing),
      limits_(limits),
      progress_(limits.progress),
      remaining_(framing == Framing::length ? length : 0),
      finished_(framing == Framing::none || (framing == Framing::length && length == 0)) {
    if (framing == Framing::chunked) decoder_.emplace();
}

Failure BodyReader::fail(Error error) {
    error_ = std::move(error);
    return Failure(*error_);
}

void BodyReader::release() {
    connection_.input().consume(std::exchange(given_, 0));
}

Result<ByteView> BodyReader::take_chunk() {
    auto output = decoder_->decode(connection_.input().bytes());
    if (!output) return Failure(std::move(output).error());
    given_ = output->consumed;
    finished_ = decoder_->finished();
    if (output->data.empty()) {
        release();
        if (!finished_ && connection_.input().size() > max_chunk_head_bytes)
            return failure(ErrorCode::bad_request, "a chunk's header or the trailers are too long");
    }
    return output->data;
}

Result<ByteView> BodyReader::take() {
    if (framing_ == Framing::chunked) return take_chunk();
    ByteView bytes = connection_.input().bytes();
    if (framing_ == Framing::length) {
        bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), remaining_));
        remaining_ -= bytes.size();
        finished_ = remaining_ == 0;
    }
    given_ = bytes.size();
    return bytes;
}

std::size_t BodyReader::wanted_capacity() const {
    if (framing_ == Framing::length)
        return std::clamp<std::uint64_t>(remaining_, small_buffer_bytes, limits_.buffer_bytes);
    // Unknown length: a large buffer once it shows that it is worth it.
    return received_ < small_buffer_bytes ? small_buffer_bytes : limits_.buffer_bytes;
}

boost::asio::awaitable<Result<ByteView>> BodyReader::read_some() {
    if (error_) co_return Failure(*error_);
    release();
    if (!fits())
        co_return fail({ErrorCode::too_large,
                        "the body has " + std::to_string(remaining_) + " bytes; at most " +
                            std::to_string(limits_.max_bytes) + " are accepted"});
    while (!finished_) {
        if (!connection_.input().empty()) {
            auto bytes = take();
            if (!bytes) co_return fail(std::move(bytes).error());
            received_ += bytes->size();
            if (received_ > limits_.max_bytes)
                co_return fail({ErrorCode::too_large, "the body has more than the " +
                                                          std::to_string(limits_.max_bytes) +
                                                          " bytes that are accepted"});
            if (!bytes->empty()) co_return *bytes;
            if (finished_) break;
        }
        if (connection_.owes_a_turn()) co_await connection_.give_turn();
        auto step = connection_.read(wanted_capacity());
        if (!step) co_return fail(std::move(step).error());
        if (step->kind == Step::Kind::done) {
            progress_.moved(step->bytes);
        } else if (step->kind == Step::Kind::end) {
            if (framing_ != Framing::until_close)
                co_return fail({ErrorCode::closed, "the connection ended within the body"});
            finished_ = true;
        } else {
            auto ready = co_await connection_.wait(step->kind, progress_);
            if (!ready) co_return fail(std::move(ready).error());
        }
    }
    co_return ByteView();
}

}  // namespace kcoral::net
