// Payload: the bytes of one return's parts, one after the other in a memory file that travels to
// the server as a descriptor, so that results are copied once.
//
// A limit bounds the payload; passing it is `too_large`. After a failure the payload is to be
// dropped. Single-threaded use.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

#include <cstdint>
#include <optional>

namespace kcoral::worker {

class Payload {
  public:
    explicit Payload(std::uint64_t limit) : limit_(limit) {}

    std::uint64_t size() const { return size_; }

    Result<void> append(ByteView bytes);
    // The first `size` bytes of `file`; `io` when it has fewer.
    Result<void> append_file(const Fd& file, std::uint64_t size);

    // The sealed memory file; nothing when no part was appended.
    Result<std::optional<Fd>> finish() &&;

  private:
    Result<void> make_room(std::uint64_t size);

    std::uint64_t limit_;
    std::uint64_t size_ = 0;
    Fd file_;  // made by the first append
};

}  // namespace kcoral::worker
