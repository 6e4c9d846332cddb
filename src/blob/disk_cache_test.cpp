#include "blob/disk_cache.hpp"

#include "blob/testing/bytes.hpp"
#include "blob/testing/cache_folder.hpp"
#include "blob/testing/loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <vector>

namespace kcoral::blob {
namespace {

using testing::CacheFolder;
using testing::Loop;
using testing::make_blob;

DiskCache::Options options(const CacheFolder& folder, std::uint64_t capacity = 1 << 20) {
    return {.directory = folder.path.string(),
            .capacity_bytes = capacity,
            .touch_interval = std::chrono::seconds(600)};
}

TEST(DiskCache, StoresAndFindsFromTheLoop) {
    CacheFolder folder;
    Loop loop;
    DiskCache cache(options(folder), loop.pool.get_executor());
    EXPECT_TRUE(cache.enabled());
    auto blob = make_blob(100'000);
    EXPECT_FALSE(loop.run(cache.find(blob->digest())));
    EXPECT_TRUE(loop.run(cache.store(blob)));
    auto file = loop.run(cache.find(blob->digest()));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->size, 100'000u);
    EXPECT_EQ(Sha256::of(as_bytes(read_file(file->file).value())), blob->digest());
    EXPECT_EQ(cache.statistics().hits, 1u);
    EXPECT_EQ(cache.statistics().misses, 1u);
    EXPECT_EQ(cache.statistics().bytes, 100'000u);
}

TEST(DiskCache, WithoutADirectoryOrACapacityThereIsNone) {
    CacheFolder folder;
    Loop loop;
    auto no_directory = options(folder);
    no_directory.directory = "";
    for (auto& off : {no_directory, options(folder, 0)}) {
        DiskCache cache(off, loop.pool.get_executor());
        EXPECT_FALSE(cache.enabled());
        EXPECT_FALSE(loop.run(cache.store(make_blob(0))));
        EXPECT_FALSE(loop.run(cache.find(make_blob(0)->digest())));
    }
    EXPECT_FALSE(std::filesystem::exists(folder.path));
}

TEST(DiskCache, ManySearchesForOneFileAllFindIt) {
    CacheFolder folder;
    Loop loop;
    DiskCache cache(options(folder), loop.pool.get_executor());
    auto blob = make_blob(100'000);
    ASSERT_TRUE(loop.run(cache.store(blob)));
    std::vector<std::future<std::optional<CachedFile>>> searches;
    for (int i = 0; i < 100; ++i)
        searches.push_back(
            boost::asio::co_spawn(loop.io, cache.find(blob->digest()), boost::asio::use_future));
    loop.run();
    for (auto& search : searches)
        EXPECT_TRUE(search.get());
    EXPECT_EQ(cache.statistics().hits, 100u);
}

TEST(DiskCache, ManyStoresAtOnceHoldTheBudget) {
    CacheFolder folder;
    Loop loop;
    DiskCache cache(options(folder, 500'000), loop.pool.get_executor());
    std::vector<std::future<bool>> stores;
    for (std::uint32_t seed = 0; seed < 50; ++seed)
        stores.push_back(boost::asio::co_spawn(loop.io, cache.store(make_blob(70'000, seed)),
                                               boost::asio::use_future));
    loop.run();
    for (auto& store : stores)
        EXPECT_TRUE(store.get());
    EXPECT_EQ(folder.bytes(), 490'000u);
    EXPECT_EQ(cache.statistics().bytes, 490'000u);
    EXPECT_EQ(cache.statistics().evictions, 43u);
    EXPECT_EQ(folder.temporaries(), 0u);
}

TEST(DiskCache, MayGoWhileItsWorkIsUnderWay) {
    CacheFolder folder;
    Loop loop;
    auto cache = std::make_unique<DiskCache>(options(folder), loop.pool.get_executor());
    auto stored =
        boost::asio::co_spawn(loop.io, cache->store(make_blob(100'000)), boost::asio::use_future);
    loop.poll();
    cache.reset();
    loop.run();
    EXPECT_TRUE(stored.get());
}

TEST(DiskCache, TheDefaultDirectoryFollowsTheEnvironment) {
    struct Case {
        const char* cache;
        const char* home;
        std::string expected;
    };
    std::string old_home = std::getenv("HOME") ? std::getenv("HOME") : "";
    auto set = [](const char* name, const char* value) {
        value ? ::setenv(name, value, 1) : ::unsetenv(name);
    };
    for (auto& [cache, home, expected] :
         {Case{"/x", "/h", "/x/kcoral/files"}, Case{"x", "/h", "/h/.cache/kcoral/files"},
          Case{"", "/h", "/h/.cache/kcoral/files"}, Case{nullptr, "/h", "/h/.cache/kcoral/files"},
          Case{nullptr, "", ""}, Case{nullptr, nullptr, ""}}) {
        set("XDG_CACHE_HOME", cache);
        set("HOME", home);
        EXPECT_EQ(DiskCache::default_directory(), expected);
    }
    set("HOME", old_home.c_str());
}

}  // namespace
}  // namespace kcoral::blob
