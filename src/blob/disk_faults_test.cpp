// The disk cache on bad ground: full and read-only disks, and servers that are killed.
#include "blob/disk_store.hpp"
#include "blob/testing/bytes.hpp"
#include "blob/testing/cache_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <thread>

namespace kcoral::blob {
namespace {

namespace fs = std::filesystem;
using testing::CacheFolder;
using testing::make_blob;
using testing::make_bytes;

DiskCache::Options options(const CacheFolder& folder, std::uint64_t capacity) {
    return {.directory = folder.path.string(),
            .capacity_bytes = capacity,
            .touch_interval = std::chrono::seconds(600)};
}

bool intact(DiskStore& store, const BlobPtr& blob) {
    auto file = store.find(blob->digest());
    return file && Sha256::of(as_bytes(read_file(file->file).value())) == blob->digest();
}

// Runs `body` in a child, whose limits and user it may change; true when it returned true.
bool in_a_child(const std::function<bool()>& body) {
    pid_t child = ::fork();
    if (child == 0) {
        try {
            ::_exit(body() ? 0 : 1);
        } catch (...) {
            ::_exit(2);  // not into the tests that are still to come
        }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct SmallDisk {
    const std::string path;
    const bool mounted;
    explicit SmallDisk(std::string where)
        : path(std::move(where)),
          mounted(::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m") == 0) {}
    ~SmallDisk() {
        if (mounted) ::umount2(path.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
};

TEST(DiskFaults, AReadOnlyFolderStillGivesItsFilesAndTakesNone) {
    CacheFolder folder;
    auto there = make_blob(1000, 1);
    ASSERT_TRUE(DiskStore(options(folder, 1 << 20)).store(*there));
    folder.set_last_use(there->digest(), -10'000);
    if (::geteuid() == 0) {
        // Permissions do not stop root, so somebody else looks at it.
        for (auto path : {folder.root, folder.root / "deep", folder.path})
            fs::permissions(path, fs::perms(0755));
        for (auto& entry : fs::recursive_directory_iterator(folder.path))
            fs::permissions(entry, entry.is_directory() ? fs::perms(0755) : fs::perms(0644));
    } else {
        fs::permissions(folder.path, fs::perms(0500));
        for (auto& entry : fs::directory_iterator(folder.path))
            fs::permissions(entry, entry.is_directory() ? fs::perms(0500) : fs::perms(0400));
    }
    EXPECT_TRUE(in_a_child([&] {
        if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
        DiskStore store(options(folder, 1 << 20));
        store.prepare();
        bool found = intact(store, there) && intact(store, there);
        bool refused = !store.store(*make_blob(1000, 2)) && !store.store(*make_blob(100'000, 3));
        return found && refused && store.statistics().faults == 3;
    }));
    for (auto& entry : fs::directory_iterator(folder.path))
        if (entry.is_directory()) fs::permissions(entry, fs::perms(0700));
    fs::permissions(folder.path, fs::perms(0700));
}

TEST(DiskFaults, AFileThatStandsInTheWayOfTheFolderMakesEverythingAMiss) {
    CacheFolder folder;
    folder.write(folder.path, "not a folder");
    DiskStore store(options(folder, 1 << 20));
    store.prepare();
    EXPECT_FALSE(store.store(*make_blob(1000)));
    EXPECT_FALSE(store.find(make_blob(1000)->digest()));
    EXPECT_EQ(store.statistics().misses, 1u);
}

TEST(DiskFaults, AFileTooLargeForTheProcessIsNotKept) {
    CacheFolder folder;
    // The limit holds for memory files too.
    auto fits = make_blob(200'000, 1);
    auto too_large = make_blob(200'001, 2);
    EXPECT_TRUE(in_a_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {200'000, 200'000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        DiskStore store(options(folder, 1 << 20));
        return !store.store(*too_large) && store.store(*fits) && intact(store, fits);
    }));
    EXPECT_EQ(folder.temporaries(), 0u);
    EXPECT_EQ(folder.bytes(), 200'000u);
}

TEST(DiskFaults, AFullDiskIsAMissAndLeavesNothing) {
    CacheFolder folder;
    fs::create_directories(folder.path);
    SmallDisk disk(folder.path.string());
    if (!disk.mounted) GTEST_SKIP() << "a small file system needs the right to mount one";
    DiskStore store(options(folder, 100 << 20));
    auto fits = make_blob(500'000, 1);
    EXPECT_TRUE(store.store(*fits));
    EXPECT_FALSE(store.store(*make_blob(900'000, 2)));
    EXPECT_EQ(folder.temporaries(), 0u);
    EXPECT_TRUE(intact(store, fits));
    EXPECT_EQ(std::stoull(folder.usage()), 500'000u);
    EXPECT_TRUE(store.store(*make_blob(300'000, 3)));
}

TEST(DiskFaults, EachKindIsLoggedOnce) {
    CacheFolder folder;
    folder.write(folder.path, "not a folder");
    DiskStore store(options(folder, 1 << 20));
    ::testing::internal::CaptureStderr();
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
        store.find(make_blob(10, seed)->digest());
        store.store(*make_blob(10, seed));
    }
    auto log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
    EXPECT_EQ(store.statistics().faults, 10u);
}

TEST(DiskFaults, AServerStoppedWithTheLockDoesNotStopTheOthers) {
    CacheFolder folder;
    DiskStore store(options(folder, 1 << 20));
    auto there = make_blob(10, 1);
    ASSERT_TRUE(store.store(*there));
    {
        Fd usage(::open((folder.path / "usage").c_str(), O_RDWR | O_CLOEXEC));
        ASSERT_EQ(::flock(usage.get(), LOCK_EX), 0);
        EXPECT_FALSE(store.store(*make_blob(10, 2)));
        EXPECT_TRUE(intact(store, there));
    }
    EXPECT_TRUE(store.store(*make_blob(10, 2)));
}

// Servers that store and find without end, and are killed in the middle of it.
TEST(DiskFaults, ServersKilledAtAnyMomentLeaveACacheThatIsWholeAndWithinItsBudget) {
    constexpr std::uint64_t capacity = 400'000;
    constexpr std::uint32_t kinds = 40;
    CacheFolder folder;
    std::vector<BlobPtr> blobs;
    for (std::uint32_t seed = 0; seed < kinds; ++seed)
        blobs.push_back(make_blob(seed % 2 ? 30'000 + seed : 70'000 + seed, seed));

    auto serve = [&](std::uint32_t seed) {
        std::mt19937 random(seed);
        DiskStore store(options(folder, capacity));
        while (true) {
            auto& blob = blobs[random() % kinds];
            auto file = store.find(blob->digest());
            if (!file) store.store(*blob);
            if (store.statistics().corrupted > 0) ::_exit(1);
        }
    };
    std::mt19937 random(7);
    for (std::uint32_t round = 0; round < 30; ++round) {
        pid_t servers[2];
        for (pid_t& server : servers) {
            auto seed = static_cast<std::uint32_t>(random());
            server = ::fork();
            if (server == 0) serve(seed);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(5'000 + random() % 30'000));
        for (pid_t server : servers) {
            ::kill(server, SIGKILL);
            int status = 0;
            ::waitpid(server, &status, 0);
            EXPECT_TRUE(WIFSIGNALED(status)) << "a server found a corrupted file";
        }
        // In force at every moment, not only after somebody has mended it.
        ASSERT_LE(folder.bytes(), capacity);
    }
    DiskStore store(options(folder, capacity));
    store.prepare();
    EXPECT_EQ(folder.temporaries(), 0u);
    EXPECT_EQ(std::stoull(folder.usage()), folder.bytes());
    std::uint32_t found = 0;
    for (auto& blob : blobs)
        found += intact(store, blob);
    EXPECT_GE(found, 3u);
    EXPECT_EQ(store.statistics().corrupted, 0u);
}

}  // namespace
}  // namespace kcoral::blob
