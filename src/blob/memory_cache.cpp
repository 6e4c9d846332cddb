// The cache's entries: found by digest, ordered by last use while nobody uses them.
#include "blob/memory_cache.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace kcoral::blob {

struct MemoryCache::Entry {
    Entry(BlobPtr bytes, MemoryCache& owner) : blob(std::move(bytes)), cache(&owner) {}

    const BlobPtr blob;
    MemoryCache* cache;  // null once the cache is gone
    std::size_t pins = 0;
    bool kept = true;                   // false: too large for the cache
    std::list<Entry*>::iterator place;  // kept without pins: in unpinned_; not kept: in passing_
};

namespace {

std::size_t half_of_all_descriptors() {
    struct rlimit limit;
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20) / 2);
}

}  // namespace

MemoryCache::MemoryCache(const Limits& limits) : limits_(limits) {
    if (limits_.max_files == 0) limits_.max_files = half_of_all_descriptors();
}

MemoryCache::~MemoryCache() {
    for (auto& [digest, entry] : entries_)
        entry->cache = nullptr;
    for (Entry* entry : passing_)
        entry->cache = nullptr;
}

bool MemoryCache::accepts(std::uint64_t size) const {
    return limits_.capacity_bytes > 0 && size <= limits_.capacity_bytes / 4;
}

std::optional<Pin> MemoryCache::find(const Digest& digest) {
    auto found = entries_.find(digest);
    if (found == entries_.end()) {
        ++statistics_.misses;
        return std::nullopt;
    }
    ++statistics_.hits;
    return Pin(found->second);
}

Pin MemoryCache::insert(BlobPtr blob) {
    auto found = entries_.find(blob->digest());
    if (found != entries_.end()) return Pin(found->second);

    auto entry = std::make_shared<Entry>(std::move(blob), *this);
    std::uint64_t size = entry->blob->size();
    if (!accepts(size)) {
        entry->kept = false;
        entry->place = passing_.insert(passing_.end(), entry.get());
        statistics_.passing_bytes += size;
        return Pin(std::move(entry));
    }
    ++statistics_.insertions;
    ++statistics_.entries;
    statistics_.bytes += size;
    if (entry->blob->file()) ++statistics_.files;
    entry->place = unpinned_.insert(unpinned_.end(), entry.get());
    entries_.emplace(entry->blob->digest(), entry);
    Pin pin(std::move(entry));
    trim();
    return pin;
}

bool MemoryCache::over_budget() const {
    return statistics_.bytes > limits_.capacity_bytes || statistics_.files > limits_.max_files ||
           statistics_.entries > limits_.max_entries;
}

void MemoryCache::trim() {
    while (over_budget() && !unpinned_.empty()) {
        Entry& oldest = *unpinned_.front();
        unpinned_.pop_front();
        ++statistics_.evictions;
        --statistics_.entries;
        statistics_.bytes -= oldest.blob->size();
        if (oldest.blob->file()) --statistics_.files;
        entries_.erase(entries_.find(oldest.blob->digest()));
    }
}

void MemoryCache::came_into_use(Entry& entry) {
    if (!entry.kept) return;
    statistics_.pinned_bytes += entry.blob->size();
    unpinned_.erase(entry.place);
}

void MemoryCache::went_out_of_use(Entry& entry) {
    if (!entry.kept) {
        statistics_.passing_bytes -= entry.blob->size();
        passing_.erase(entry.place);
        return;
    }
    statistics_.pinned_bytes -= entry.blob->size();
    entry.place = unpinned_.insert(unpinned_.end(), &entry);
    trim();
}

MemoryCache::Pin::Pin(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {
    if (entry_->pins++ == 0 && entry_->cache) entry_->cache->came_into_use(*entry_);
}

MemoryCache::Pin::Pin(const Pin& other) : entry_(other.entry_) {
    if (entry_) ++entry_->pins;
}

MemoryCache::Pin& MemoryCache::Pin::operator=(Pin other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
}

MemoryCache::Pin::~Pin() {
    if (entry_ && --entry_->pins == 0 && entry_->cache) entry_->cache->went_out_of_use(*entry_);
}

const BlobPtr& MemoryCache::Pin::blob() const {
    return entry_->blob;
}

}  // namespace kcoral::blob
