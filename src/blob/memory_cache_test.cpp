#include "blob/memory_cache.hpp"

#include "blob/testing/bytes.hpp"

#include <gtest/gtest.h>

namespace kcoral::blob {
namespace {

using testing::make_blob;

MemoryCache::Limits limits(std::uint64_t bytes) {
    return {.capacity_bytes = bytes, .max_files = 0, .max_entries = 1'000'000};
}

bool has(MemoryCache& cache, const BlobPtr& blob) {
    return cache.find(blob->digest()).has_value();
}

TEST(MemoryCache, FindsWhatWasInsertedAndCounts) {
    MemoryCache cache(limits(4000));
    auto blob = make_blob(1000);
    EXPECT_FALSE(cache.find(blob->digest()));
    cache.insert(blob);
    auto pin = cache.find(blob->digest());
    ASSERT_TRUE(pin);
    EXPECT_EQ(pin->blob(), blob);
    EXPECT_EQ((*pin)->size(), 1000u);
    auto& statistics = cache.statistics();
    EXPECT_EQ(statistics.hits, 1u);
    EXPECT_EQ(statistics.misses, 1u);
    EXPECT_EQ(statistics.insertions, 1u);
    EXPECT_EQ(statistics.bytes, 1000u);
    EXPECT_EQ(statistics.entries, 1u);
    EXPECT_EQ(statistics.files, 0u);
    EXPECT_EQ(statistics.pinned_bytes, 1000u);
    pin.reset();
    EXPECT_EQ(statistics.pinned_bytes, 0u);
}

TEST(MemoryCache, TheSameBytesAreKeptOnce) {
    MemoryCache cache(limits(4000));
    auto first = cache.insert(make_blob(1000));
    auto second = cache.insert(make_blob(1000));
    EXPECT_EQ(first.blob(), second.blob());
    EXPECT_EQ(cache.statistics().bytes, 1000u);
    EXPECT_EQ(cache.statistics().pinned_bytes, 1000u);
}

TEST(MemoryCache, FillsItsCapacityToTheLastByteAndDropsTheLeastRecentlyUsed) {
    MemoryCache cache(limits(4000));
    std::vector<BlobPtr> blobs;
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
        blobs.push_back(make_blob(1000, seed));
        cache.insert(blobs.back());
    }
    EXPECT_EQ(cache.statistics().bytes, 4000u);
    EXPECT_EQ(cache.statistics().evictions, 0u);
    EXPECT_TRUE(has(cache, blobs[0]));  // a use: now blob 1 is the oldest

    auto byte = make_blob(1, 99);
    cache.insert(byte);
    EXPECT_EQ(cache.statistics().evictions, 1u);
    EXPECT_EQ(cache.statistics().bytes, 3001u);
    EXPECT_TRUE(has(cache, byte));
    EXPECT_TRUE(has(cache, blobs[0]));
    EXPECT_FALSE(has(cache, blobs[1]));
    EXPECT_TRUE(has(cache, blobs[2]));
    EXPECT_TRUE(has(cache, blobs[3]));
}

TEST(MemoryCache, ABlobOfAQuarterIsKeptALargerOneOnlyPassesThrough) {
    struct Case {
        std::uint64_t capacity;
        std::size_t size;
        bool kept;
    };
    for (auto [capacity, size, kept] :
         {Case{4000, 1000, true}, Case{4000, 1001, false}, Case{4003, 1000, true},
          Case{4003, 1001, false}, Case{3, 0, true}, Case{3, 1, false}, Case{0, 0, false},
          Case{0, 1, false}}) {
        MemoryCache cache(limits(capacity));
        auto blob = make_blob(size);
        EXPECT_EQ(cache.accepts(size), kept) << size << " of " << capacity;
        {
            auto pin = cache.insert(blob);
            EXPECT_EQ(pin.blob(), blob);
            EXPECT_EQ(has(cache, blob), kept);
            EXPECT_EQ(cache.statistics().passing_bytes, kept ? 0 : size);
        }
        EXPECT_EQ(has(cache, blob), kept);
        EXPECT_EQ(cache.statistics().passing_bytes, 0u);
        EXPECT_EQ(cache.statistics().bytes, kept ? size : 0);
    }
}

TEST(MemoryCache, IsOverItsBudgetOnlyWhileBlobsArePinned) {
    MemoryCache cache(limits(4000));
    std::vector<Pin> pins;
    for (std::uint32_t seed = 0; seed < 6; ++seed)
        pins.push_back(cache.insert(make_blob(1000, seed)));
    auto& statistics = cache.statistics();
    EXPECT_EQ(statistics.bytes, 6000u);
    EXPECT_EQ(statistics.evictions, 0u);

    // A blob without a pin does not stay while the others fill the cache.
    auto visitor = make_blob(10, 50);
    cache.insert(visitor);
    EXPECT_FALSE(has(cache, visitor));
    EXPECT_EQ(statistics.bytes, 6000u);

    Pin copy = pins[0];
    pins[0] = Pin();
    EXPECT_EQ(statistics.bytes, 6000u);  // the copy still pins it
    copy = Pin();
    EXPECT_EQ(statistics.bytes, 5000u);
    pins.clear();
    EXPECT_EQ(statistics.bytes, 4000u);
    EXPECT_EQ(statistics.pinned_bytes, 0u);
}

TEST(MemoryCache, PinnedBlobsOutliveEvictionOfOlderAndNewerOnes) {
    MemoryCache cache(limits(4000));
    auto oldest = make_blob(1000, 0);
    Pin pin = cache.insert(oldest);
    for (std::uint32_t seed = 1; seed < 20; ++seed)
        cache.insert(make_blob(1000, seed));
    EXPECT_TRUE(has(cache, oldest));
    EXPECT_EQ(cache.statistics().bytes, 4000u);
}

TEST(MemoryCache, TheEndOfAUseIsTheUseThatCounts) {
    MemoryCache cache(limits(4000));
    auto first = make_blob(1000, 0);
    auto second = make_blob(1000, 1);
    Pin long_use = cache.insert(first);
    cache.insert(second);
    cache.insert(make_blob(1000, 2));
    cache.insert(make_blob(1000, 3));
    long_use = Pin();
    cache.insert(make_blob(1000, 4));
    EXPECT_TRUE(has(cache, first));
    EXPECT_FALSE(has(cache, second));
}

TEST(MemoryCache, PinsMayOutliveTheCache) {
    Pin kept, passing;
    auto large = make_blob(100'000);
    {
        MemoryCache cache(limits(4000));
        kept = cache.insert(make_blob(1000));
        passing = cache.insert(large);
    }
    Pin copy = kept;
    EXPECT_EQ(kept->size(), 1000u);
    EXPECT_EQ(passing->size(), 100'000u);
}

TEST(MemoryCache, MemoryFilesAndEntriesAreLimitedToo) {
    MemoryCache::Limits few = limits(1 << 30);
    few.max_files = 2;
    few.max_entries = 5;
    MemoryCache cache(few);
    auto file = [](std::uint32_t seed) { return make_blob(Blob::small_limit + 1, seed); };
    auto first = file(0);
    cache.insert(first);
    cache.insert(file(1));
    EXPECT_TRUE(has(cache, first));
    cache.insert(file(2));
    EXPECT_EQ(cache.statistics().files, 2u);
    EXPECT_TRUE(has(cache, first));

    for (std::uint32_t seed = 10; seed < 13; ++seed)
        cache.insert(make_blob(1, seed));
    EXPECT_EQ(cache.statistics().entries, 5u);
    EXPECT_EQ(cache.statistics().evictions, 1u);
    cache.insert(make_blob(1, 13));
    EXPECT_EQ(cache.statistics().entries, 5u);
    EXPECT_EQ(cache.statistics().evictions, 2u);
}

}  // namespace
}  // namespace kcoral::blob
