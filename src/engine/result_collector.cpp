// Checking and hashing returns.
#include "engine/result_collector.hpp"

#include "base/memory_map.hpp"
#include "base/sha256.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <utility>

namespace kcoral::engine {
namespace {

Failure broken(std::string message) {
    return failure(ErrorCode::protocol, std::move(message));
}

// On the pool: the digest of each part of a sealed file.
Result<std::vector<Digest>> hash_parts(const Fd& file, const std::vector<std::uint64_t>& sizes) {
    std::uint64_t total = 0;
    for (std::uint64_t size : sizes)
        total += size;
    TRY_ASSIGN(MemoryMap map, MemoryMap::read_only(file, total));
    ByteView rest = map.bytes();
    std::vector<Digest> digests;
    for (std::uint64_t size : sizes) {
        digests.push_back(Sha256::of(rest.first(size)));
        rest = rest.subspan(size);
    }
    return digests;
}

std::vector<std::uint64_t> part_sizes(const protocol::Value& value) {
    std::vector<std::uint64_t> sizes;
    protocol::for_each_part(value, [&](const protocol::Part& part) { sizes.push_back(part.size); });
    return sizes;
}

// The parts must fill the payload exactly; it must be a memory file that cannot change any more.
Result<void> check_payload(const std::optional<Fd>& payload,
                           const std::vector<std::uint64_t>& sizes) {
    if (sizes.empty() != !payload)
        return broken(payload ? "a payload came for a value without parts"
                              : "a value with parts came without their payload");
    if (!payload) return {};
    if (auto sealed = seal_memory_file(*payload); !sealed)
        return broken("a payload could not be sealed: " + sealed.error().message);
    TRY_ASSIGN(std::uint64_t rest, file_size(*payload));
    for (std::uint64_t size : sizes) {
        if (size > rest) return broken("a payload is shorter than its parts");
        rest -= size;
    }
    if (rest != 0) return broken("a payload is longer than its parts");
    return {};
}

}  // namespace

std::shared_ptr<ResultCollector> ResultCollector::create(
    boost::asio::io_context& loop, boost::asio::thread_pool& pool,
    std::shared_ptr<const protocol::Program> program, std::uint64_t limit) {
    return std::shared_ptr<ResultCollector>(
        new ResultCollector(loop, pool, std::move(program), limit));
}

ResultCollector::ResultCollector(boost::asio::io_context& loop, boost::asio::thread_pool& pool,
                                 std::shared_ptr<const protocol::Program> program,
                                 std::uint64_t limit)
    : loop_(loop), pool_(pool), program_(std::move(program)), limit_(limit) {}

Result<void> ResultCollector::add(worker::Returned returned) {
    if (returned.instruction >= program_->instructions.size())
        return broken("a return came for an instruction the program does not have");
    const std::string* key = protocol::return_key(program_->instructions[returned.instruction]);
    if (!key) return broken("a return came for an instruction that is none");
    if (last_instruction_ && returned.instruction <= *last_instruction_)
        return broken("a return came twice or out of order");
    last_instruction_ = returned.instruction;

    std::uint64_t value_bytes = returned.value_bytes;
    std::uint32_t next_part = 0;
    TRY_ASSIGN(protocol::Value value, protocol::decode_value(std::move(returned.value), "value",
                                                             protocol::Digests::absent, next_part));
    std::vector<std::uint64_t> sizes = part_sizes(value);
    TRY(check_payload(returned.payload, sizes));
    bytes_ += value_bytes;
    for (std::uint64_t size : sizes)
        bytes_ += size;
    if (bytes_ > limit_)
        return failure(ErrorCode::too_large,
                       fmt::format("the program's results take more than {} bytes, the most this "
                                   "server returns; return less, or ask for a larger "
                                   "--max-response-bytes",
                                   limit_));

    ReturnedResult result{*key, std::move(value), nullptr};
    if (returned.payload) result.payload = std::make_shared<const Fd>(std::move(*returned.payload));
    results_.push_back(std::move(result));
    if (!sizes.empty()) hash(results_.size() - 1);
    return {};
}

void ResultCollector::hash(std::size_t result) {
    ++hashing_;
    auto self = shared_from_this();
    auto payload = results_[result].payload;
    auto sizes = part_sizes(results_[result].value);
    boost::asio::post(pool_, [self, payload, sizes, result] {
        auto digests = hash_parts(*payload, sizes);
        boost::asio::post(self->loop_, [self, result, digests = std::move(digests)]() mutable {
            self->hashed(result, std::move(digests));
        });
    });
}

void ResultCollector::hashed(std::size_t result, Result<std::vector<Digest>> digests) {
    --hashing_;
    if (!digests) {
        error_ = std::move(digests).error().within("hashing a result");
    } else {
        std::size_t next = 0;
        protocol::for_each_part(results_[result].value,
                                [&](protocol::Part& part) { part.digest = (*digests)[next++]; });
    }
    if (hashing_ == 0 && settled_) std::exchange(settled_, nullptr)();
}

void ResultCollector::when_settled(std::function<void()> settled) {
    if (hashing_ == 0) return settled();
    settled_ = std::move(settled);
}

Result<std::vector<ReturnedResult>> ResultCollector::take() {
    if (error_) return Failure(*error_);
    return std::move(results_);
}

}  // namespace kcoral::engine
