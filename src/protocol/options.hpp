// Options: what a program may ask for, and what the server makes of it.
#pragma once

#include "base/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace kcoral::protocol {

// As written in the program; absent members were not written.
struct Options {
    std::optional<double> timeout_seconds;  // finite, > 0
    std::optional<std::uint64_t> output_limit_bytes;
    std::optional<int> gpu_count;  // 1..8

    bool operator==(const Options&) const = default;
};

// The server's configuration.
struct OptionLimits {
    double default_timeout_seconds = 300;
    double max_timeout_seconds = 900;
    std::uint64_t default_output_limit_bytes = std::uint64_t{1} << 20;
    std::uint64_t max_output_limit_bytes = std::uint64_t{16} << 20;
};

struct ResolvedOptions {
    std::chrono::nanoseconds timeout{};  // at least one
    std::uint64_t output_limit_bytes = 0;
    std::optional<int> gpu_count;

    bool operator==(const ResolvedOptions&) const = default;
};

// Fills in defaults and clamps to the maxima. gpu_count is never clamped.
ResolvedOptions resolve_options(const Options& options, const OptionLimits& limits);

// `bad_request` naming the capacity when the program asks for more GPUs than there are; on a CPU
// server (`configured_gpus` 0) that is any number.
Result<void> check_gpu_capacity(const Options& options, int configured_gpus);

}  // namespace kcoral::protocol
