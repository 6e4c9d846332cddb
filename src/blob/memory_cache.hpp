// MemoryCache: blobs kept for later requests, within a budget of bytes.
//
// A request holds a Pin for each blob it uses. Pinned blobs are never evicted, so the cache may be
// over its budget while, and only while, the pinned blobs alone take it there; the moment a pin
// goes, the least recently used blobs without pins are dropped until the budget holds again.
// A blob larger than a quarter of the capacity is not kept: only its own request uses it. Used on
// the loop thread only. Pins may outlive the cache.
#pragma once

#include "blob/blob.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

namespace kcoral::blob {

class MemoryCache {
  private:
    struct Entry;

  public:
    struct Limits {
        // Of the blobs' bytes, inclusive. 0: nothing is kept, not even empty blobs.
        std::uint64_t capacity_bytes = 0;
        // Blobs in memory files: each holds a descriptor. 0: half of RLIMIT_NOFILE.
        std::size_t max_files = 0;
        // All blobs: many tiny ones take few bytes of the budget but more of the machine.
        std::size_t max_entries = 1'000'000;
    };

    struct Statistics {
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
        std::uint64_t insertions = 0;
        std::uint64_t evictions = 0;
        std::uint64_t bytes = 0;          // kept, pinned or not
        std::uint64_t pinned_bytes = 0;   // of those, in use
        std::uint64_t passing_bytes = 0;  // in use but not kept: too large for the cache
        std::size_t entries = 0;
        std::size_t files = 0;
    };

    // A blob in use: keeps it in the cache. Copies count as further pins. Loop thread only; another
    // thread that reads the bytes gets a copy of blob().
    class Pin {
      public:
        Pin() = default;
        Pin(const Pin& other);
        Pin(Pin&& other) noexcept = default;
        Pin& operator=(Pin other) noexcept;
        ~Pin();

        explicit operator bool() const { return entry_ != nullptr; }
        const BlobPtr& blob() const;
        const Blob& operator*() const { return *blob(); }
        const Blob* operator->() const { return blob().get(); }

      private:
        friend MemoryCache;
        explicit Pin(std::shared_ptr<Entry> entry);
        std::shared_ptr<Entry> entry_;
    };

    explicit MemoryCache(const Limits& limits);
    ~MemoryCache();
    MemoryCache(const MemoryCache&) = delete;
    MemoryCache& operator=(const MemoryCache&) = delete;

    // Pins the blob, or gives nothing: a miss.
    std::optional<Pin> find(const Digest& digest);

    // Keeps the blob if the rules allow, and pins it in any case. If the cache has these bytes
    // already, the pin is of those and `blob` may go.
    Pin insert(BlobPtr blob);

    // May a blob of this size be kept? The boundary: exactly a quarter of the capacity may.
    bool accepts(std::uint64_t size) const;

    const Limits& limits() const { return limits_; }
    const Statistics& statistics() const { return statistics_; }

  private:
    void came_into_use(Entry& entry);
    void went_out_of_use(Entry& entry);
    void trim();
    bool over_budget() const;

    Limits limits_;
    Statistics statistics_;
    std::unordered_map<Digest, std::shared_ptr<Entry>> entries_;
    std::list<Entry*> unpinned_;  // of entries_: least recently used first
    std::list<Entry*> passing_;   // in use but not kept
};

using Pin = MemoryCache::Pin;

}  // namespace kcoral::blob
