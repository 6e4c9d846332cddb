// copy_range: bytes from one file to another inside the kernel.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <cstdint>

namespace kcoral::worker {

// Appends `size` bytes of `source`, from `offset` on, at the position of `destination`. `io` when
// the source ends early. The source's own position does not matter and does not move.
Result<void> copy_range(const Fd& source, std::uint64_t offset, std::uint64_t size,
                        const Fd& destination);

}  // namespace kcoral::worker
