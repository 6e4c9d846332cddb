// Arrival: bytes are written by the loop, hashed behind it on a strand of the pool.
//
// Written with pwrite, not through a mapping: a page the kernel makes for a write is not cleared
// first and faults nobody, which is more than twice as fast. Hashing reads through short-lived
// mappings, which cost less than copying the bytes out again.
#include "blob/incoming_blob.hpp"

#include "base/memory_map.hpp"
#include "base/offload.hpp"
#include "base/signal.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace kcoral::blob {

namespace asio = boost::asio;
using Executor = asio::any_io_executor;
using Strand = asio::strand<Executor>;

namespace {

// What is hashed in one go: long enough that hops between threads cost nothing beside it. A
// multiple of every page size, as each go is one mapping.
constexpr std::uint64_t stride = 1 << 20;
// Hashing this many bytes costs about as much as a hop to the pool and back.
constexpr std::uint64_t hash_on_the_loop = 16 << 10;
// Freeing the pages of a blob above this size is worth a hop: it takes about 50 us a MiB.
constexpr std::uint64_t free_on_the_loop = 1 << 20;

Result<void> write_at(const Fd& file, ByteView bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        ssize_t count =
            ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) continue;
            return errno_failure("keeping uploaded bytes in memory");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

// A large blob's file and hash. The loop writes to the file; all else happens on the strand.
struct Arrival {
    explicit Arrival(Fd memory_file) : file(std::move(memory_file)) {}

    Fd file;
    Sha256 hasher;
    std::uint64_t hashed = 0;
    std::optional<Error> error;

    void hash_up_to(std::uint64_t end) {
        while (hashed < end && !error) {
            std::uint64_t size = std::min(stride, end - hashed);
            auto window = MemoryMap::read_only(file, size, hashed);
            if (!window) {
                error = std::move(window).error();
                return;
            }
            hasher.update(window->bytes());
            hashed += size;
        }
    }
    Result<BlobPtr> seal(const Executor& pool) {
        if (error) return Failure(*std::move(error));
        TRY(seal_memory_file(file));
        auto blob = std::make_unique<const Blob>(hasher.finish(), std::move(file), hashed);
        if (hashed <= free_on_the_loop) return BlobPtr(std::move(blob));
        auto drop = [pool](const Blob* dropped) {
            asio::post(pool, [owned = std::unique_ptr<const Blob>(dropped)] {});
        };
        return BlobPtr(blob.release(), drop);
    }
};

BlobPtr make_small(std::vector<std::byte> bytes) {
    bytes.shrink_to_fit();
    Digest digest = Sha256::of(bytes);
    return std::make_shared<const Blob>(digest, std::move(bytes));
}

}  // namespace

struct IncomingBlob::Core : std::enable_shared_from_this<Core> {
    Core(Executor loop_executor, Executor pool_executor)
        : loop(std::move(loop_executor)), pool(std::move(pool_executor)), progress(loop) {}

    const Executor loop;
    const Executor pool;

    std::uint64_t size = 0;
    std::vector<std::byte> small;  // until the blob is a large one

    std::shared_ptr<Arrival> arrival;  // from then on
    std::optional<Strand> strand;
    std::uint64_t handed_over = 0;  // to be hashed
    std::uint64_t hashed = 0;
    Signal progress;

    Result<void> become_large() {
        TRY_ASSIGN(Fd file, make_memory_file("kcoral-blob"));
        TRY(write_at(file, small, 0));
        small = {};
        arrival = std::make_shared<Arrival>(std::move(file));
        strand.emplace(pool);
        return {};
    }
    void hand_over(std::uint64_t end) {
        handed_over = end;
        asio::post(*strand, [core = shared_from_this(), work = arrival, end]() mutable {
            work->hash_up_to(end);
            auto loop = core->loop;
            asio::post(loop, [core = std::move(core), end] {
                core->hashed = end;
                core->progress.notify();
            });
        });
    }
};

IncomingBlob::IncomingBlob(Executor loop, Executor pool)
    : core_(std::make_shared<Core>(std::move(loop), std::move(pool))) {}
IncomingBlob::~IncomingBlob() = default;
IncomingBlob::IncomingBlob(IncomingBlob&&) noexcept = default;
IncomingBlob& IncomingBlob::operator=(IncomingBlob&&) noexcept = default;

Result<void> IncomingBlob::append(ByteView bytes) {
    Core& core = *core_;
    if (!core.arrival) {
        if (core.size + bytes.size() <= Blob::small_limit) {
            core.small.insert(core.small.end(), bytes.begin(), bytes.end());
            core.size += bytes.size();
            return {};
        }
        TRY(core.become_large());
    }
    TRY(write_at(core.arrival->file, bytes, core.size));
    core.size += bytes.size();
    std::uint64_t end = core.size - core.size % stride;
    if (end > core.handed_over) core.hand_over(end);
    return {};
}

void IncomingBlob::end() {
    if (core_->arrival && core_->size > core_->handed_over) core_->hand_over(core_->size);
}

std::uint64_t IncomingBlob::size() const {
    return core_->size;
}

bool IncomingBlob::lagging() const {
    return core_->handed_over - core_->hashed > max_lag;
}

asio::awaitable<void> IncomingBlob::caught_up() {
    auto core = core_;
    while (core->handed_over - core->hashed > max_lag)
        co_await core->progress.wait();
}

asio::awaitable<Result<BlobPtr>> IncomingBlob::finish() {
    auto core = core_;
    if (core->arrival) {
        end();
        auto work = [arrival = core->arrival, pool = core->pool] { return arrival->seal(pool); };
        co_return co_await offload(*core->strand, std::move(work));
    }
    if (core->size <= hash_on_the_loop) co_return make_small(std::move(core->small));
    auto work = [bytes = std::move(core->small)]() mutable { return make_small(std::move(bytes)); };
    co_return co_await offload(core->pool, std::move(work));
}

}  // namespace kcoral::blob
