// Uploads in memory and on disk, beside the floors they stand on: memcpy and plain SHA-256.
//
// The last lines are ratios of this run, as the floors differ between machines. An upload here is
// what the loop does with a body's bytes once it has them; sockets are bench/http's matter.
#include "base/sha256.hpp"
#include "blob/disk_cache.hpp"
#include "blob/incoming_blob.hpp"
#include "blob/memory_cache.hpp"

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kcoral {
namespace {

namespace asio = boost::asio;

constexpr std::size_t large = 64 << 20;
constexpr std::size_t chunk = 64 << 10;  // what one read from a socket gives

const std::vector<std::byte>& source() {
    static const std::vector<std::byte> bytes(large, std::byte{7});
    return bytes;
}

void set_speed(benchmark::State& state, std::size_t bytes) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

struct Loop {
    asio::thread_pool pool{2};
    asio::io_context io{1};
    ~Loop() { pool.join(); }
    void run() {
        io.restart();
        io.run();
    }
};

asio::awaitable<void> upload(Loop& loop, ByteView bytes) {
    blob::IncomingBlob incoming(loop.io.get_executor(), loop.pool.get_executor());
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
        if (!incoming.append(bytes.subspan(at, std::min(chunk, bytes.size() - at)))) std::abort();
        if (incoming.lagging()) co_await incoming.caught_up();
    }
    auto finished = co_await incoming.finish();
    benchmark::DoNotOptimize(finished.value()->digest());
}

void memcpy_floor(benchmark::State& state) {
    std::vector<std::byte> target(large);
    for (auto _ : state) {
        std::memcpy(target.data(), source().data(), large);
        benchmark::ClobberMemory();
    }
    set_speed(state, large);
}

void sha256_floor(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(Sha256::of(source()));
    set_speed(state, large);
}

// The same, one blob after the other, without a thread to share the work.
void small_sha256_floor(benchmark::State& state) {
    auto size = static_cast<std::size_t>(state.range(0));
    for (auto _ : state)
        for (int i = 0; i < 1000; ++i)
            benchmark::DoNotOptimize(Sha256::of(ByteView(source()).first(size)));
    set_speed(state, 1000 * size);
}

void uploads(benchmark::State& state) {
    Loop loop;
    for (auto _ : state) {
        for (std::int64_t i = 0; i < state.range(0); ++i)
            asio::co_spawn(loop.io, upload(loop, source()), asio::detached);
        loop.run();
    }
    set_speed(state, large * static_cast<std::size_t>(state.range(0)));
}

asio::awaitable<void> upload_thousand(Loop& loop, std::size_t size) {
    for (int i = 0; i < 1000; ++i)
        co_await upload(loop, ByteView(source()).first(size));
}

void small_uploads(benchmark::State& state) {
    Loop loop;
    auto size = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        asio::co_spawn(loop.io, upload_thousand(loop, size), asio::detached);
        loop.run();
    }
    set_speed(state, 1000 * size);
}

void memory_cache_hits(benchmark::State& state) {
    blob::MemoryCache cache({.capacity_bytes = 1 << 30, .max_files = 0, .max_entries = 1 << 20});
    std::vector<Digest> digests;
    for (std::size_t size = 1; size <= 10'000; ++size) {
        auto made = blob::Blob::copy_of(ByteView(source()).first(size)).value();
        digests.push_back(made->digest());
        cache.insert(std::move(made));
    }
    std::size_t next = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(cache.find(digests[++next % digests.size()]));
}

asio::awaitable<void> find(blob::DiskCache& cache, Digest digest) {
    auto file = co_await cache.find(digest);
    if (!file) std::abort();
}

asio::awaitable<void> store(blob::DiskCache& cache, blob::BlobPtr stored) {
    // Named: g++ 12 breaks a coroutine that is nothing but one `if` around a co_await.
    bool kept = co_await cache.store(std::move(stored));
    if (!kept) std::abort();
}

// A file that is verified already, and one that a new process has to verify.
void disk_cache_hits(benchmark::State& state) {
    std::string directory = std::filesystem::temp_directory_path() / "kcoral-bench-XXXXXX";
    if (!::mkdtemp(directory.data())) std::abort();
    {
        Loop loop;
        blob::DiskCache::Options options{.directory = directory, .capacity_bytes = 1 << 30};
        auto stored = blob::Blob::copy_of(source()).value();
        auto digest = stored->digest();
        auto cache = std::make_unique<blob::DiskCache>(options, loop.pool.get_executor());
        asio::co_spawn(loop.io, store(*cache, stored), asio::detached);
        loop.run();
        bool verify = state.range(0);
        if (!verify) {
            for (int i = 0; i < 2; ++i) {
                asio::co_spawn(loop.io, find(*cache, digest), asio::detached);
                loop.run();
            }
        }
        for (auto _ : state) {
            if (verify)
                cache = std::make_unique<blob::DiskCache>(options, loop.pool.get_executor());
            asio::co_spawn(loop.io, find(*cache, digest), asio::detached);
            loop.run();
        }
    }
    set_speed(state, large);
    std::filesystem::remove_all(directory);
}

BENCHMARK(memcpy_floor)->UseRealTime();
BENCHMARK(sha256_floor)->UseRealTime();
BENCHMARK(uploads)->Arg(1)->Arg(2)->Arg(8)->UseRealTime();
BENCHMARK(small_sha256_floor)->Arg(1 << 10)->Arg(48 << 10)->UseRealTime();
BENCHMARK(small_uploads)->Arg(1 << 10)->Arg(48 << 10)->UseRealTime();
BENCHMARK(memory_cache_hits);
BENCHMARK(disk_cache_hits)->ArgName("verify")->Arg(0)->Arg(1)->UseRealTime();

// Remembers every speed, to print the ratios after the table.
class Reporter : public benchmark::ConsoleReporter {
  public:
    void ReportRuns(const std::vector<Run>& runs) override {
        ConsoleReporter::ReportRuns(runs);
        for (const Run& run : runs)
            if (auto speed = run.counters.find("bytes_per_second"); speed != run.counters.end())
                speeds_[run.benchmark_name()] = speed->second.value;
    }
    void print_ratio(std::string_view name, std::string_view floor, std::string_view aim = "") {
        auto speed = [&](std::string_view key) {
            return speeds_[std::string(key) + "/real_time"] / 1e6;
        };
        if (speed(name) == 0 || speed(floor) == 0) return;
        fmt::print("{:<24} {:6.0f} MB/s = {:4.2f} of {} ({:.0f} MB/s){}\n", name, speed(name),
                   speed(name) / speed(floor), floor, speed(floor), aim);
    }

  private:
    std::map<std::string, double> speeds_;
};

}  // namespace
}  // namespace kcoral

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    kcoral::Reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    reporter.print_ratio("uploads/1", "memcpy_floor");
    reporter.print_ratio("uploads/1", "sha256_floor", ", aim 0.60");
    reporter.print_ratio("uploads/2", "sha256_floor");
    reporter.print_ratio("uploads/8", "sha256_floor");
    reporter.print_ratio("small_uploads/1024", "small_sha256_floor/1024");
    reporter.print_ratio("small_uploads/49152", "small_sha256_floor/49152");
    reporter.print_ratio("disk_cache_hits/verify:1", "sha256_floor");
}
