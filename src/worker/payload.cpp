// Filling and sealing the memory file of a return's parts.
#include "worker/payload.hpp"

#include "worker/copy_range.hpp"

#include <fmt/format.h>

namespace kcoral::worker {

Result<void> Payload::make_room(std::uint64_t size) {
    if (size > limit_ - size_)
        return failure(ErrorCode::too_large,
                       fmt::format("the results pass the {} bytes that are left of the response's "
                                   "limit; return less",
                                   limit_));
    if (!file_) {
        TRY_ASSIGN(file_, make_memory_file("kcoral-result"));
    }
    size_ += size;
    return {};
}

Result<void> Payload::append(ByteView bytes) {
    TRY(make_room(bytes.size()));
    return write_all(file_, bytes);
}

Result<void> Payload::append_file(const Fd& file, std::uint64_t size) {
    TRY(make_room(size));
    return copy_range(file, 0, size, file_);
}

Result<std::optional<Fd>> Payload::finish() && {
    if (!file_) return std::optional<Fd>();
    TRY(seal_memory_file(file_));
    return std::optional<Fd>(std::move(file_));
}

}  // namespace kcoral::worker
