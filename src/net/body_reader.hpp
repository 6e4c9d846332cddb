// BodyReader: the body of one message as it arrives on a connection, whatever its framing.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "net/chunk_decoder.hpp"
#include "net/connection.hpp"
#include "net/progress.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kcoral::net {

class BodyReader {
  public:
    enum class Framing { none, length, chunked, until_close };

    struct Limits {
        std::uint64_t max_bytes;
        std::size_t buffer_bytes;
        ProgressLimit progress;
    };

    // Borrows the connection, whose input begins with the body.
    BodyReader(Connection& connection, Framing framing, std::uint64_t length, Limits limits);

    // See Request::read_some. An error repeats itself.
    boost::asio::awaitable<Result<ByteView>> read_some();

    // False when the length that was announced is over the limit.
    bool fits() const { return remaining_ <= limits_.max_bytes - received_; }
    // Has the whole body been given out?
    bool finished() const { return finished_; }
    bool failed() const { return error_.has_value(); }
    // Bytes of a body of known length that are not given out yet.
    std::uint64_t remaining() const { return remaining_; }

    // Takes the bytes given out last off the connection's input.
    void release();

  private:
    // What the input holds of the body: nothing when more must be read first.
    Result<ByteView> take();
    Result<ByteView> take_chunk();
    Failure fail(Error error);
    std::size_t wanted_capacity() const;

    Connection& connection_;
    const Framing framing_;
    const Limits limits_;
    Progress progress_;
    std::optional<ChunkDecoder> decoder_;
    std::optional<Error> error_;
    std::uint64_t remaining_;     // of Framing::length
    std::uint64_t received_ = 0;  // given out so far
    std::size_t given_ = 0;       // bytes of the input that the last view came from
    bool finished_;
};

}  // namespace kcoral::net
