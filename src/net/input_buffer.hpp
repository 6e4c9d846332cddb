// InputBuffer: the bytes of a connection that have arrived and are not consumed yet.
//
// One piece of memory, which grows while it has to and is given back when nothing is in it.
#pragma once

#include "base/bytes.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace kcoral::net {

class InputBuffer {
  public:
    bool empty() const { return begin_ == end_; }
    std::size_t size() const { return end_ - begin_; }
    ByteView bytes() const { return {memory_.get() + begin_, size()}; }

    void consume(std::size_t count);

    // Room behind the bytes: not empty as long as fewer than `capacity` bytes are here. What is
    // here may move.
    std::span<std::byte> room(std::size_t capacity);
    // The first `count` bytes of the room have been filled.
    void filled(std::size_t count) { end_ += count; }

    // Gives memory beyond the usual size of a request back, if nothing is here.
    void shrink();

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace kcoral::net
