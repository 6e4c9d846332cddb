// ServerOptions: everything an operator can set, with its default. The command line fills it in.
#pragma once

#include "base/error.hpp"
#include "blob/disk_cache.hpp"
#include "sandbox/limits.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace kcoral::server {

enum class Device { gpu, cpu, automatic };
enum class Sandbox { bubblewrap, none, required };
enum class OnDisconnect { cancel, finish };

struct ServerOptions {
    std::string program;  // argv[0]: where kcoral is installed tells which Python is its own

    // Where it listens
    std::string host = "127.0.0.1";
    std::uint16_t port = 8000;  // 0: any free one

    // Workers
    Device device = Device::gpu;
    unsigned num_workers = 1;              // seats of a CPU server
    unsigned max_requests_per_worker = 1;  // 0: no limit
    std::string python;                // empty: the environment kcoral is installed in, or PATH's
    std::vector<std::string> preload;  // empty: torch, numpy, triton, ... as installed
    bool host_tensors = false;
    Sandbox sandbox = Sandbox::bubblewrap;
    std::vector<std::string> sandbox_readonly_paths;
    sandbox::SeatLimits seat_limits;
    std::string workspace_dir;  // empty: a folder below the system's temporary one
    std::string disk_cache_dir = blob::DiskCache::default_directory();  // empty: no disk cache
    OnDisconnect on_disconnect = OnDisconnect::cancel;

    // Times, in seconds
    double worker_wait_timeout_seconds = 1800;
    double default_timeout_seconds = 300;
    double max_timeout_seconds = 900;
    double worker_termination_grace_seconds = 5;
    double header_timeout_seconds = 20;
    double idle_timeout_seconds = 75;
    double progress_timeout_seconds = 30;  // a body or an answer on its way, without progress

    // Sizes, in bytes
    std::uint64_t max_request_bytes = 256 << 20;
    std::uint64_t max_response_bytes = 256 << 20;
    std::uint64_t output_limit_bytes = 1 << 20;
    std::uint64_t max_output_limit_bytes = 16 << 20;
    std::uint64_t cache_capacity_bytes = std::uint64_t(16) << 30;
    std::uint64_t max_header_bytes = 32 << 10;
    std::uint64_t max_inflight_upload_bytes = std::uint64_t(4) << 30;
    std::uint64_t disk_cache_capacity_mbytes = 16384;  // 0: no disk cache

    // Counts
    unsigned pool_threads = 0;  // for hashing and disk work; 0: one a core
    std::uint64_t max_connections = 10'000;
    std::uint64_t max_queued_requests = 10'000;
    std::uint64_t max_instructions = 10'000;
    std::uint64_t max_parts = 10'000;
    std::uint64_t max_json_depth = 512;
};

// Rules that bind several options; the message names the option, its value and what it may be.
Result<void> check(const ServerOptions& options);

}  // namespace kcoral::server
