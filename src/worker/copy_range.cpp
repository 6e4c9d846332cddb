// Copying by sendfile(2), which works from every regular file to every file.
#include "worker/copy_range.hpp"

#include <fmt/format.h>

#include <sys/sendfile.h>

#include <algorithm>
#include <cerrno>

namespace kcoral::worker {

Result<void> copy_range(const Fd& source, std::uint64_t offset, std::uint64_t size,
                        const Fd& destination) {
    constexpr std::uint64_t step = 1 << 30;  // the kernel moves less than 2 GiB a call
    auto position = static_cast<off_t>(offset);
    for (std::uint64_t left = size; left > 0;) {
        ssize_t copied = ::sendfile(destination.get(), source.get(), &position,
                                    static_cast<std::size_t>(std::min(left, step)));
        if (copied < 0) {
            if (errno == EINTR) continue;
            return errno_failure("copying a file");
        }
        if (copied == 0)
            return failure(ErrorCode::io,
                           fmt::format("a file ended {} bytes before its size", left));
        left -= static_cast<std::uint64_t>(copied);
    }
    return {};
}

}  // namespace kcoral::worker
