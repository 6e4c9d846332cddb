#include "blob/disk_store.hpp"

#include "blob/testing/bytes.hpp"
#include "blob/testing/cache_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace kcoral::blob {
namespace {

namespace fs = std::filesystem;
using testing::CacheFolder;
using testing::make_blob;
using testing::make_bytes;

struct DiskStoreTest : ::testing::Test {
    CacheFolder folder;

    DiskCache::Options options(std::uint64_t capacity = 1 << 20) const {
        return {.directory = folder.path.string(),
                .capacity_bytes = capacity,
                .touch_interval = std::chrono::seconds(600)};
    }
    static bool has_bytes(const std::optional<CachedFile>& file,
                          const std::vector<std::byte>& bytes) {
        return file && file->size == bytes.size() &&
               read_file(file->file).value() == as_text(ByteView(bytes));
    }
    // Files young enough to hide a change in their ctime are not trusted yet.
    static void age() { std::this_thread::sleep_for(std::chrono::milliseconds(80)); }
};

TEST_F(DiskStoreTest, FindsWhatWasStoredSmallAndLargeNowAndAfterARestart) {
    std::size_t sizes[] = {0, 1, Blob::small_limit, Blob::small_limit + 1, 300'000};
    DiskStore store(options());
    for (std::size_t size : sizes) {
        auto bytes = make_bytes(size);
        auto blob = Blob::copy_of(bytes).value();
        EXPECT_FALSE(store.find(blob->digest()));
        EXPECT_TRUE(store.store(*blob));
        EXPECT_TRUE(has_bytes(store.find(blob->digest()), bytes)) << size;
    }
    DiskStore next(options());
    for (std::size_t size : sizes)
        EXPECT_TRUE(has_bytes(next.find(Sha256::of(make_bytes(size))), make_bytes(size))) << size;
    auto statistics = store.statistics();
    EXPECT_EQ(statistics.hits, 5u);
    EXPECT_EQ(statistics.misses, 5u);
    EXPECT_EQ(statistics.stores, 5u);
    EXPECT_EQ(statistics.faults, 0u);
    EXPECT_EQ(statistics.bytes, folder.bytes());
    EXPECT_EQ(folder.temporaries(), 0u);
}

TEST_F(DiskStoreTest, NobodyElseMayReadTheFolderAndFilesAreReadOnlyHere) {
    DiskStore store(options());
    auto blob = make_blob(10);
    ASSERT_TRUE(store.store(*blob));
    struct stat status;
    ASSERT_EQ(::stat(folder.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat(folder.entry(blob->digest()).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    auto file = store.find(blob->digest());
    EXPECT_LT(::write(file->file.get(), "x", 1), 0);
}

TEST_F(DiskStoreTest, FillsItsCapacityToTheLastByteAndRemovesTheLeastRecentlyUsed) {
    DiskStore store(options(4000));
    std::vector<BlobPtr> blobs;
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
        blobs.push_back(make_blob(1000, seed));
        ASSERT_TRUE(store.store(*blobs.back()));
    }
    EXPECT_EQ(folder.bytes(), 4000u);
    EXPECT_EQ(store.statistics().evictions, 0u);
    auto open = store.find(blobs[1]->digest());
    EXPECT_TRUE(store.find(blobs[0]->digest()));  // uses: now blob 2 is the oldest

    ASSERT_TRUE(store.store(*make_blob(1, 9)));
    EXPECT_EQ(store.statistics().evictions, 1u);
    EXPECT_EQ(folder.bytes(), 3001u);
    EXPECT_FALSE(folder.has(blobs[2]->digest()));

    ASSERT_TRUE(store.store(*make_blob(4000, 10)));
    EXPECT_EQ(folder.bytes(), 4000u);
    EXPECT_TRUE(has_bytes(open, make_bytes(1000, 1)));  // evicted, but readable by who has it
    EXPECT_FALSE(store.store(*make_blob(4001, 11)));
    EXPECT_EQ(folder.bytes(), 4000u);
    EXPECT_EQ(store.statistics().faults, 0u);
}

TEST_F(DiskStoreTest, ARestartKnowsTheLastUseFromTheDiskAndALowerCapacityIsEnforcedAtOnce) {
    std::vector<BlobPtr> blobs;
    {
        DiskStore store(options(4000));
        for (std::uint32_t seed = 0; seed < 4; ++seed) {
            blobs.push_back(make_blob(1000, seed));
            ASSERT_TRUE(store.store(*blobs.back()));
        }
    }
    folder.set_last_use(blobs[0]->digest(), -10);
    folder.set_last_use(blobs[1]->digest(), -40);
    folder.set_last_use(blobs[2]->digest(), -20);
    folder.set_last_use(blobs[3]->digest(), 7 * 86400);  // the clock was set back since
    DiskStore store(options(2000));
    store.prepare();
    EXPECT_TRUE(folder.has(blobs[0]->digest()));
    EXPECT_FALSE(folder.has(blobs[1]->digest()));
    EXPECT_TRUE(folder.has(blobs[2]->digest()));
    EXPECT_FALSE(folder.has(blobs[3]->digest()));
}

TEST_F(DiskStoreTest, AUseShowsOnTheDiskOnceTheOldOneIsStale) {
    DiskStore store(options());
    auto blob = make_blob(10);
    ASSERT_TRUE(store.store(*blob));
    auto age_on_disk = [&] {
        struct stat status;
        ::stat(folder.entry(blob->digest()).c_str(), &status);
        return ::time(nullptr) - status.st_atim.tv_sec;
    };
    folder.set_last_use(blob->digest(), -300);
    store.find(blob->digest());  // hashes, and with that may touch by itself
    folder.set_last_use(blob->digest(), -700);
    EXPECT_TRUE(store.find(blob->digest()));
    EXPECT_LT(age_on_disk(), 100);
    folder.set_last_use(blob->digest(), 100'000);
    EXPECT_TRUE(store.find(blob->digest()));
    EXPECT_GE(age_on_disk(), 0);
}

TEST_F(DiskStoreTest, ADamagedFileIsAMissAndGoesWhenever) {
    auto bytes = make_bytes(5000);
    auto blob = Blob::copy_of(bytes).value();
    auto digest = blob->digest();
    DiskStore store(options());
    ASSERT_TRUE(store.store(*blob));
    folder.damage(digest);  // before its first use
    EXPECT_FALSE(store.find(digest));
    EXPECT_FALSE(folder.has(digest));

    ASSERT_TRUE(store.store(*blob));
    age();
    EXPECT_TRUE(has_bytes(store.find(digest), bytes));
    folder.damage(digest);  // after it was verified
    EXPECT_FALSE(store.find(digest));
    EXPECT_FALSE(folder.has(digest));
    EXPECT_EQ(store.statistics().corrupted, 2u);
    EXPECT_EQ(store.statistics().bytes, 0u);

    ASSERT_TRUE(store.store(*blob));
    EXPECT_TRUE(has_bytes(store.find(digest), bytes));
    fs::resize_file(folder.entry(digest), 4999);  // a power cut
    EXPECT_FALSE(store.find(digest));
    ASSERT_TRUE(store.store(*blob));
    EXPECT_TRUE(has_bytes(store.find(digest), bytes));
    EXPECT_EQ(folder.bytes(), 5000u);
}

TEST_F(DiskStoreTest, AFileOfTheWrongSizeIsReplaced) {
    DiskStore store(options());
    auto blob = make_blob(5000);
    folder.write(folder.entry(blob->digest()), "short");
    EXPECT_TRUE(store.store(*blob));
    EXPECT_TRUE(has_bytes(store.find(blob->digest()), make_bytes(5000)));
    EXPECT_EQ(store.statistics().bytes, 5000u);
}

TEST_F(DiskStoreTest, WhatIsNoFileIsAMiss) {
    DiskStore store(options());
    auto entry = [&](std::uint32_t seed) { return folder.entry(make_blob(10, seed)->digest()); };
    for (std::uint32_t seed = 0; seed < 3; ++seed)
        fs::create_directories(entry(seed).parent_path());
    fs::create_directory(entry(0));
    ASSERT_EQ(::mkfifo(entry(1).c_str(), 0600), 0);
    folder.write(folder.root / "elsewhere", std::string(as_text(ByteView(make_bytes(10, 2)))));
    fs::create_symlink(folder.root / "elsewhere", entry(2));
    for (std::uint32_t seed = 0; seed < 3; ++seed)
        EXPECT_FALSE(store.find(make_blob(10, seed)->digest())) << seed;
    EXPECT_EQ(store.statistics().faults, 3u);
    EXPECT_TRUE(fs::exists(folder.root / "elsewhere"));
}

TEST_F(DiskStoreTest, StrayTemporariesGoThoseBeingWrittenStay) {
    auto uuid = [&](char digit) {
        return folder.path / "tmp" / (std::string("00000000-0000-4000-8000-00000000000") + digit);
    };
    folder.write(uuid('1'), "half of a f");
    folder.write(uuid('2'), "still writ");
    folder.write(folder.path / "tmp" / "notes.txt", "not ours");
    folder.write(folder.path / "README", "not ours");
    folder.write(folder.path / "ab" / "cd", "not ours");
    Fd writer(::open(uuid('2').c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);

    DiskStore store(options());
    store.prepare();
    EXPECT_FALSE(fs::exists(uuid('1')));
    EXPECT_TRUE(fs::exists(uuid('2')));
    EXPECT_TRUE(fs::exists(folder.path / "tmp" / "notes.txt"));
    EXPECT_TRUE(fs::exists(folder.path / "README"));
    EXPECT_TRUE(fs::exists(folder.path / "ab" / "cd"));
    EXPECT_EQ(store.statistics().bytes, 0u);
}

TEST_F(DiskStoreTest, AWrongSumOfBytesIsMended) {
    for (std::string text :
         {"", "no number\n", "99999999999999999999\n", "00000000000000500000\n"}) {
        DiskStore store(options(400'000));
        auto first = make_blob(100'000, 1);
        ASSERT_TRUE(store.store(*first));
        folder.write(folder.path / "usage", text);
        ASSERT_TRUE(store.store(*make_blob(200'000, 2)));
        EXPECT_EQ(std::stoull(folder.usage()), folder.bytes()) << text;
        EXPECT_EQ(store.statistics().bytes, folder.bytes());
        fs::remove_all(folder.path);
    }
}

TEST_F(DiskStoreTest, AFolderThatWasRemovedIsMadeAnew) {
    DiskStore store(options());
    auto blob = make_blob(1000);
    ASSERT_TRUE(store.store(*blob));
    fs::remove_all(folder.root / "deep");
    EXPECT_FALSE(store.find(blob->digest()));
    EXPECT_TRUE(store.store(*blob));
    EXPECT_TRUE(has_bytes(store.find(blob->digest()), make_bytes(1000)));
}

TEST_F(DiskStoreTest, MoreFilesThanOneScanRemembersAreStillEvictedInOrder) {
    constexpr std::uint32_t count = 5000;
    {
        DiskStore store(options());
        for (std::uint32_t seed = 0; seed < count; ++seed)
            ASSERT_TRUE(store.store(*make_blob(4, seed)));
    }
    for (std::uint32_t seed = 0; seed < count; ++seed)
        folder.set_last_use(make_blob(4, seed)->digest(), -10'000 + static_cast<int>(seed));
    DiskStore store(options(4 * 20));
    store.prepare();
    EXPECT_EQ(store.statistics().evictions, count - 20);
    EXPECT_FALSE(folder.has(make_blob(4, count - 21)->digest()));
    for (std::uint32_t seed = count - 20; seed < count; ++seed)
        EXPECT_TRUE(folder.has(make_blob(4, seed)->digest())) << seed;
}

TEST(Fingerprint, OnlyAnAgedOneIsTrusted) {
    struct stat status{};
    status.st_mtim = {1000, 0};
    status.st_ctim = {1000, 500'000'000};
    auto fingerprint = Fingerprint::of(status);
    EXPECT_FALSE(fingerprint.aged(to_time({1000, 0})));
    EXPECT_FALSE(fingerprint.aged(to_time({1000, 550'000'000})));
    EXPECT_TRUE(fingerprint.aged(to_time({1000, 550'001'000})));
    status.st_mtim = {2000, 0};
    EXPECT_FALSE(Fingerprint::of(status).aged(to_time({1500, 0})));
    EXPECT_NE(Fingerprint::of(status), fingerprint);
}

}  // namespace
}  // namespace kcoral::blob
