// Growing, filling and emptying a connection's input.
#include "net/input_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace kcoral::net {

namespace {

constexpr std::size_t usual_capacity = 4 << 10;

}  // namespace

void InputBuffer::consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
}

std::span<std::byte> InputBuffer::room(std::size_t capacity) {
    // Moving is worth it only when the room at the end is small beside what was asked for.
    bool enough = capacity_ - end_ >= std::max<std::size_t>(capacity / 2, 1);
    if (!enough) {
        if (capacity_ < capacity) {
            // Not zeroed: pages that are never filled are never touched.
            auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity);
            if (!empty()) std::memcpy(memory.get(), memory_.get() + begin_, size());
            memory_ = std::move(memory);
            capacity_ = capacity;
        } else if (begin_ > 0) {
            std::memmove(memory_.get(), memory_.get() + begin_, size());
        }
        end_ -= begin_;
        begin_ = 0;
    }
    return {memory_.get() + end_, capacity_ - end_};
}

void InputBuffer::shrink() {
    if (empty() && capacity_ > usual_capacity) {
        memory_.reset();
        capacity_ = begin_ = end_ = 0;
    }
}

}  // namespace kcoral::net
