// What a file's status tells the disk cache: its times, and whether it is still the same file.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace kcoral::blob {

inline std::chrono::system_clock::time_point to_time(const timespec& time) {
    auto since_epoch = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch));
}

// Equal fingerprints: nobody has written to the file in between. The ctime tells, as no program can
// set it; but only one that has aged, as a write within the same tick leaves it as it is.
struct Fingerprint {
    dev_t device;
    ino_t inode;
    std::uint64_t size;
    std::chrono::system_clock::time_point modified;
    std::chrono::system_clock::time_point changed;

    static Fingerprint of(const struct stat& status) {
        return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                to_time(status.st_mtim), to_time(status.st_ctim)};
    }
    bool aged(std::chrono::system_clock::time_point now) const {
        return now - std::max(modified, changed) > std::chrono::milliseconds(50);
    }
    bool operator==(const Fingerprint&) const = default;
};

}  // namespace kcoral::blob
