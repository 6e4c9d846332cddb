// DiskStore: the disk cache without its loop - finding, verifying and storing files.
//
// Here every storage fault ends: it is counted, logged the first time of its kind, and becomes a
// miss. Safe from any thread; every call may block on the disk.
#pragma once

#include "blob/disk_cache.hpp"
#include "blob/disk_space.hpp"
#include "blob/file_status.hpp"

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kcoral::blob {

class DiskStore {
  public:
    explicit DiskStore(const DiskCache::Options& options);

    // Makes the folder, mends what killed servers left and evicts down to the capacity.
    void prepare();
    std::optional<CachedFile> find(const Digest& digest);
    bool store(const Blob& blob);

    DiskCache::Statistics statistics() const;

  private:
    using Time = DiskSpace::Time;
    // What this process knows of a file.
    struct Record {
        Time last_use;
        std::optional<Fingerprint> verified;
    };

    std::optional<CachedFile> look_up(const Digest& digest);
    std::optional<CachedFile> verify(const Digest& digest, Fd file);
    bool touch_if_stale(const Fd& file, const struct stat& status) const;
    Result<void> write_and_publish(const Blob& blob);
    void fault(std::string_view kind, const Error& error);

    std::optional<Fingerprint> verified(const Digest& digest) const;
    Time last_use(const Digest& digest) const;
    void used(const Digest& digest, std::optional<Fingerprint> fingerprint);
    void forget(const Digest& digest);

    const std::chrono::seconds touch_interval_;
    const std::uint64_t capacity_bytes_;

    mutable std::mutex mutex_;  // taken last, and guards what follows
    std::unordered_map<Digest, Record> records_;
    std::set<std::string, std::less<>> logged_;  // kinds of faults
    DiskCache::Statistics statistics_;

    DiskSpace space_;
};

}  // namespace kcoral::blob
