#include "blob/incoming_blob.hpp"

#include "base/memory_map.hpp"
#include "blob/testing/bytes.hpp"
#include "blob/testing/loop.hpp"

#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>

namespace kcoral::blob {
namespace {

using testing::Loop;
using testing::make_bytes;
using Executor = boost::asio::any_io_executor;

boost::asio::awaitable<Result<BlobPtr>> upload(Executor pool, ByteView bytes, std::size_t chunk) {
    IncomingBlob incoming(co_await boost::asio::this_coro::executor, pool);
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
        CO_TRY(incoming.append(bytes.subspan(at, std::min(chunk, bytes.size() - at))));
        if (incoming.lagging()) co_await incoming.caught_up();
    }
    co_return co_await incoming.finish();
}

std::vector<std::byte> contents(const Blob& blob) {
    if (!blob.file()) return {blob.view().begin(), blob.view().end()};
    auto map = MemoryMap::read_only(*blob.file(), blob.size()).value();
    return {map.bytes().begin(), map.bytes().end()};
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

struct Arrival {
    std::size_t size;
    std::size_t chunk;
};

class IncomingBlobs : public ::testing::TestWithParam<Arrival> {};

TEST_P(IncomingBlobs, KeepTheirBytesAndKnowTheirDigest) {
    auto [size, chunk] = GetParam();
    auto bytes = make_bytes(size);
    Loop loop;
    auto blob = loop.run(upload(loop.pool.get_executor(), bytes, chunk)).value();
    EXPECT_EQ(blob->digest(), Sha256::of(bytes));
    EXPECT_EQ(blob->size(), size);
    EXPECT_TRUE(contents(*blob) == bytes);
    EXPECT_EQ(blob->file() == nullptr, size <= Blob::small_limit);
}

constexpr std::size_t small = Blob::small_limit;
constexpr std::size_t mib = 1 << 20;

INSTANTIATE_TEST_SUITE_P(
    SizesAndChunks, IncomingBlobs,
    ::testing::Values(Arrival{0, 1}, Arrival{1, 1}, Arrival{1000, 7}, Arrival{16 << 10, 16 << 10},
                      Arrival{(16 << 10) + 1, 4096}, Arrival{small, small}, Arrival{small, 1000},
                      Arrival{small + 1, small}, Arrival{small + 1, small + 1}, Arrival{mib, 65536},
                      Arrival{mib - 1, 65536}, Arrival{mib + 1, 65535},
                      Arrival{3 * mib + 12345, 3 * mib}, Arrival{40 * mib + 1, 300'000}));

TEST(IncomingBlob, ALargeBlobIsSealedForGood) {
    Loop loop;
    auto bytes = make_bytes(small + 1);
    auto blob = loop.run(upload(loop.pool.get_executor(), bytes, bytes.size())).value();
    int file = blob->file()->get();
    EXPECT_LT(::pwrite(file, "x", 1, 0), 0);
    EXPECT_NE(::ftruncate(file, 0), 0);
    EXPECT_NE(::ftruncate(file, static_cast<off_t>(2 * bytes.size())), 0);
    EXPECT_EQ(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
}

TEST(IncomingBlob, SaysWhenHashingLagsAndWhenItHasCaughtUp) {
    Loop loop;
    std::promise<void> go;
    // Both threads of the pool are busy elsewhere.
    auto gate = go.get_future().share();
    for (int i = 0; i < 2; ++i)
        boost::asio::post(loop.pool, [gate] { gate.wait(); });

    IncomingBlob incoming(loop.io.get_executor(), loop.pool.get_executor());
    std::vector<std::byte> chunk(mib);
    while (!incoming.lagging()) {
        ASSERT_LE(incoming.size(), 2 * IncomingBlob::max_lag);
        ASSERT_TRUE(incoming.append(chunk));
    }
    EXPECT_GT(incoming.size(), IncomingBlob::max_lag);
    go.set_value();
    loop.run(incoming.caught_up());
    EXPECT_FALSE(incoming.lagging());
    auto blob = loop.run(incoming.finish()).value();
    EXPECT_EQ(blob->size(), incoming.size());
}

TEST(IncomingBlob, AnAbortedUploadLeavesNothing) {
    std::size_t before = open_descriptors();
    {
        Loop loop;
        for (std::size_t size : {std::size_t{1}, small + 1, 5 * mib + 1}) {
            IncomingBlob incoming(loop.io.get_executor(), loop.pool.get_executor());
            ASSERT_TRUE(incoming.append(make_bytes(size)));
        }
        loop.pool.wait();
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(IncomingBlob, ALoopThatEndsAmidAnUploadLeavesNothing) {
    std::size_t before = open_descriptors();
    {
        Loop loop;
        auto bytes = make_bytes(3 * mib);
        auto never_run = boost::asio::co_spawn(
            loop.io, upload(loop.pool.get_executor(), bytes, mib), boost::asio::use_future);
        loop.poll();
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(IncomingBlob, ABlobThatWasEndedIsFinishedLaterAllTheSame) {
    Loop loop;
    for (std::size_t size : {std::size_t{10}, small + 1, 2 * mib, 2 * mib + 1}) {
        auto bytes = make_bytes(size);
        IncomingBlob incoming(loop.io.get_executor(), loop.pool.get_executor());
        ASSERT_TRUE(incoming.append(bytes));
        incoming.end();
        loop.poll();
        auto blob = loop.run(incoming.finish()).value();
        EXPECT_EQ(blob->digest(), Sha256::of(bytes));
        EXPECT_EQ(blob->size(), size);
    }
}

TEST(IncomingBlob, ManySmallBlobsTakeNoDescriptors) {
    Loop loop;
    std::size_t before = open_descriptors();
    std::vector<BlobPtr> blobs;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        auto bytes = make_bytes(100, i);
        blobs.push_back(loop.run(upload(loop.pool.get_executor(), bytes, 100)).value());
    }
    EXPECT_LE(open_descriptors(), before + 5);  // those of the loop itself
}

TEST(IncomingBlob, ManyBlobsArriveInTurns) {
    Loop loop;
    auto pool = loop.pool.get_executor();
    constexpr std::uint32_t count = 16;
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::future<Result<BlobPtr>>> uploads;
    for (std::uint32_t i = 0; i < count; ++i)
        bytes.push_back(make_bytes(mib + i * 70'000, i));
    for (std::uint32_t i = 0; i < count; ++i)
        uploads.push_back(boost::asio::co_spawn(loop.io, upload(pool, bytes[i], 10'000 + i),
                                                boost::asio::use_future));
    loop.run();
    for (std::uint32_t i = 0; i < count; ++i)
        EXPECT_EQ(uploads[i].get().value()->digest(), Sha256::of(bytes[i]));
}

TEST(Blob, ACopyIsSmallOrSealedByTheSameLimit) {
    for (std::size_t size : {std::size_t{0}, small, small + 1}) {
        auto bytes = make_bytes(size);
        auto blob = Blob::copy_of(bytes).value();
        EXPECT_EQ(blob->digest(), Sha256::of(bytes));
        EXPECT_EQ(blob->file() == nullptr, size <= small);
        EXPECT_TRUE(contents(*blob) == bytes);
    }
}

}  // namespace
}  // namespace kcoral::blob
