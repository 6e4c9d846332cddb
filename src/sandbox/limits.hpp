// SeatLimits: how much of the machine one seat may take. Zero means no limit of our own.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace kcoral::sandbox {

struct SeatLimits {
    // Bytes of memory. With a cgroup: of the whole seat, page cache included; beyond it the seat
    // is killed. Without: of private writable memory (RLIMIT_DATA) in each process; beyond it
    // allocations fail.
    std::uint64_t memory = 0;
    // Bytes of address space in each process. CUDA reserves terabytes of it: leave 0 on GPUs.
    std::uint64_t address_space = 0;
    // Processes and threads of the whole seat.
    std::uint64_t processes = 4096;
    std::uint64_t open_files = 65536;
    // Bytes of the largest file.
    std::uint64_t file_size = 0;
    // Bytes of all files together. Where it is set the workspace is in memory, not on disk.
    std::uint64_t workspace_size = 0;

    bool operator==(const SeatLimits&) const = default;
};

// "memory=1073741824 processes=4096 ...", limits that are set only.
std::string to_string(const SeatLimits& limits);
// Reads that back: a limit that is not named is none. `bad_request` for anything else.
Result<SeatLimits> parse_limits(std::string_view text);

// Applies what setrlimit(2) can to the calling process and its children to come. `memory` is left
// out where `in_cgroup`, and `processes` where the kernel would count those of other seats too.
// Never raises a hard limit: a limit above the inherited one is cut to it.
Result<void> apply_limits(const SeatLimits& limits, bool in_cgroup, bool counts_processes);

}  // namespace kcoral::sandbox
