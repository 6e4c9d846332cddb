// DiskSpace: the folder of a disk cache, and the bytes its files take.
//
//     <directory>/<2 hex digits>/<62 hex digits>   a file, named by its digest
//     <directory>/tmp/<uuid>                       a file being written, flocked by its writer
//     <directory>/usage                            bytes of all files, as text; its flock is the
//     lock
//
// Several processes share the folder. Publishing, evicting and removing happen under the lock, and
// the sum in `usage` is raised before a file appears and lowered after one went: a process killed
// in between leaves it too high, never too low, and the next scan mends it. Writers create and
// flock their temporaries under the lock too, so a temporary that is not flocked is a dead
// writer's. Safe from any thread; every call may block on the disk.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/sha256.hpp"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kcoral::blob {

class DiskSpace {
  public:
    using Time = std::chrono::system_clock::time_point;
    // When this process last used a file, if that is later than what the disk says.
    using LastUse = std::function<Time(const Digest&)>;

    DiskSpace(std::string directory, std::uint64_t capacity_bytes, LastUse last_use);

    std::string path_of(const Digest& digest) const;

    // Makes the folder, removes what dead writers left, counts the files and evicts down to the
    // capacity. Done by the first publish otherwise.
    Result<void> prepare();

    // A file being written. It goes with its owner unless it was published.
    class Temporary {
      public:
        Temporary(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
        Temporary(Temporary&& other) noexcept;
        Temporary& operator=(Temporary&&) = delete;
        ~Temporary();
        const Fd& fd() const { return fd_; }

      private:
        friend DiskSpace;
        std::string path_;  // empty once published
        Fd fd_;
    };
    Result<Temporary> make_temporary();

    // Puts the file in its place, evicting the least recently used files first if need be.
    // too_large when the capacity is less than `size`.
    Result<void> publish(Temporary temporary, const Digest& digest, std::uint64_t size);

    // Removes the file if it is still the one with this inode.
    Result<void> remove(const Digest& digest, std::uint64_t inode);

    // Of all files, as last seen. Does not block.
    std::uint64_t bytes() const { return bytes_; }
    // By this object. Does not block.
    std::uint64_t evictions() const { return evictions_; }

  private:
    class Lock;
    // A file as the last scan saw it.
    struct Candidate {
        Digest digest;
        Time last_use;
    };

    // Takes the lock, and prepares the folder the first time.
    Result<Lock> lock_folder();
    Result<void> scan(Lock& lock);
    void remove_strays();
    Result<void> make_room(Lock& lock, std::uint64_t size);
    Result<void> evict_next(Lock& lock);
    Result<void> forget_bytes(Lock& lock, std::uint64_t size);
    Time last_use(const Digest& digest, const struct stat& status, Time now) const;

    const std::string directory_;
    const std::uint64_t capacity_bytes_;
    const LastUse last_use_;

    std::mutex mutex_;  // taken before the lock, and guards what follows
    bool prepared_ = false;
    std::vector<Candidate> candidates_;  // the files used least recently, the very least last

    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> evictions_ = 0;
};

}  // namespace kcoral::blob
