// kcoral server: its options, and the life of the process that serves.
#include "base/log.hpp"
#include "cli/command.hpp"
#include "server/options.hpp"
#include "server/server.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace kcoral::cli {
namespace {

using server::ServerOptions;

// Every option can also be set in the environment: --num-workers by KCORAL_SERVER_NUM_WORKERS.
std::string environment_name(std::string_view flag) {
    std::string name = "KCORAL_SERVER_";
    for (char c : flag.substr(2))
        name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return name;
}

template <typename T>
CLI::Option* option(CLI::App& app, const char* flag, T& value, const char* help) {
    return app.add_option(flag, value, help)
        ->envname(environment_name(flag))
        ->capture_default_str();
}

CLI::Option* flag(CLI::App& app, const char* name, bool& value, const char* help) {
    return app.add_flag(name, value, help)->envname(environment_name(name));
}

template <typename Enum>
void choice(CLI::App& app, const char* flag, Enum& value, std::map<std::string, Enum> names,
            const char* help) {
    std::string shown;
    for (const auto& [name, meaning] : names)
        if (meaning == value) shown = name;
    app.add_option(flag, value, help)
        ->transform(CLI::CheckedTransformer(std::move(names)))
        ->envname(environment_name(flag))
        ->default_str(shown);
}

void add_options(CLI::App& app, ServerOptions& o) {
    option(app, "--host", o.host, "Address to listen on");
    option(app, "--port", o.port, "Port to listen on; 0 takes a free one");

    choice<server::Device>(app, "--device", o.device,
                           {{"gpu", server::Device::gpu},
                            {"cpu", server::Device::cpu},
                            {"auto", server::Device::automatic}},
                           "What programs run on; auto: GPUs when there are any, else the CPU with "
                           "host tensors");
    option(app, "--num-workers", o.num_workers, "Requests a CPU server runs at a time")
        ->check(CLI::Range(1u, 4096u));
    option(app, "--max-requests-per-worker", o.max_requests_per_worker,
           "Requests a worker process serves before a fresh one takes its seat; 0: no limit");
    option(app, "--python", o.python,
           "Interpreter for workers; default: that of the environment kcoral is installed in, else "
           "python3 on PATH");
    option(app, "--preload", o.preload,
           "Modules imported once, before workers are forked; default: torch, numpy, triton and "
           "tvm_ffi, those that are installed")
        ->delimiter(',');
    flag(app, "--host-tensors", o.host_tensors,
         "Let a CPU server take tensor uploads, as arrays in host memory");
    choice<server::Sandbox>(app, "--sandbox", o.sandbox,
                            {{"bubblewrap", server::Sandbox::bubblewrap},
                             {"none", server::Sandbox::none},
                             {"required", server::Sandbox::required}},
                            "Where workers run; bubblewrap: in it if it can be had; required: "
                            "refuse to start without it");
    option(
        app, "--sandbox-readonly-path", o.sandbox_readonly_paths,
        "A path on this machine that workers may read; folders also enter sys.path (repeatable)");
    option(app, "--worker-memory-bytes", o.seat_limits.memory,
           "Memory a worker's processes may take; 0: no limit");
    option(app, "--worker-address-space-bytes", o.seat_limits.address_space,
           "Address space of each of its processes; 0: no limit");
    option(app, "--worker-processes", o.seat_limits.processes,
           "Processes and threads of a worker; 0: no limit");
    option(app, "--worker-open-files", o.seat_limits.open_files,
           "Open files of each of its processes; 0: no limit");
    option(app, "--worker-file-size-bytes", o.seat_limits.file_size,
           "Its largest file; 0: no limit");
    option(app, "--workspace-size-bytes", o.seat_limits.workspace_size,
           "All files of a request together, which then lie in memory; 0: no limit, on disk");
    option(app, "--workspace-dir", o.workspace_dir,
           "Where the workspaces of requests lie; default: a folder in the system's temporary one");
    choice<server::OnDisconnect>(
        app, "--on-disconnect", o.on_disconnect,
        {{"cancel", server::OnDisconnect::cancel}, {"finish", server::OnDisconnect::finish}},
        "What becomes of a request whose client goes away");

    option(app, "--worker-wait-timeout-seconds", o.worker_wait_timeout_seconds,
           "How long a request waits for a worker");
    option(app, "--default-timeout-seconds", o.default_timeout_seconds,
           "Execution budget of a request that names none");
    option(app, "--max-timeout-seconds", o.max_timeout_seconds,
           "The largest execution budget; larger ones are cut to it");
    option(app, "--worker-termination-grace-seconds", o.worker_termination_grace_seconds,
           "From SIGTERM to SIGKILL");
    option(app, "--header-timeout-seconds", o.header_timeout_seconds,
           "How long a request's header may take to arrive");
    option(app, "--idle-timeout-seconds", o.idle_timeout_seconds,
           "How long a connection may stay open between requests");
    option(app, "--progress-timeout-seconds", o.progress_timeout_seconds,
           "How long a client may pause while it sends a body or takes an answer");

    option(app, "--max-request-bytes", o.max_request_bytes, "Largest request body");
    option(app, "--max-response-bytes", o.max_response_bytes, "Largest sum of a program's results");
    option(app, "--output-limit-bytes", o.output_limit_bytes,
           "Captured bytes of each output stream, for a request that names no limit");
    option(app, "--max-output-limit-bytes", o.max_output_limit_bytes,
           "The largest such limit; larger ones are cut to it");
    option(app, "--cache-capacity-bytes", o.cache_capacity_bytes,
           "Memory for uploads kept for later requests; 0 keeps none");
    option(app, "--disk-cache-dir", o.disk_cache_dir,
           "Where uploaded files are kept for later requests; empty keeps none");
    option(app, "--disk-cache-capacity-mbytes", o.disk_cache_capacity_mbytes,
           "Space for them, in MiB; 0 keeps none");
    option(app, "--max-inflight-upload-bytes", o.max_inflight_upload_bytes,
           "Bytes of uploads that may be on their way at once; further requests are read later")
        ->check(CLI::Range(std::uint64_t(1), ~std::uint64_t(0)));
    option(app, "--max-header-bytes", o.max_header_bytes, "Largest request header")
        ->check(CLI::Range(std::uint64_t(1024), std::uint64_t(1) << 30));

    option(app, "--pool-threads", o.pool_threads,
           "Threads for hashing and disk work; 0: one a core")
        ->check(CLI::Range(0u, 1024u));
    option(app, "--max-connections", o.max_connections, "Connections open at a time")
        ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1'000'000)));
    option(app, "--max-queued-requests", o.max_queued_requests,
           "Requests that may wait for a worker; more are turned away as busy")
        ->check(CLI::Range(std::uint64_t(1), std::uint64_t(100'000'000)));
    option(app, "--max-instructions", o.max_instructions, "Instructions of a program")
        ->check(CLI::Range(std::uint64_t(1), std::uint64_t(100'000'000)));
    option(app, "--max-parts", o.max_parts, "Parts of a request body")
        ->check(CLI::Range(std::uint64_t(1), std::uint64_t(100'000'000)));
    option(app, "--max-json-depth", o.max_json_depth, "Nesting of a program's JSON")
        ->check(CLI::Range(std::uint64_t(8), std::uint64_t(4096)));
}

}  // namespace

int run_server(const std::string& program, std::vector<std::string> arguments) {
    CLI::App app("Own this machine's devices and run programs on them.", "kcoral server");
    ServerOptions options;
    add_options(app, options);
    std::reverse(arguments.begin(), arguments.end());  // the order CLI11 takes a vector in
    try {
        app.parse(arguments);
    } catch (const CLI::Success& success) {
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "kcoral server: {}\nTry `kcoral server --help`.\n", error.what());
        return usage;
    }
    if (auto checked = server::check(options); !checked) {
        fmt::print(stderr, "kcoral server: {}\n", checked.error().message);
        return usage;
    }
    options.program = program;
    if (auto served = server::serve(options); !served) {
        log::error("server_start_failed {}", served.error().message);
        return failed;
    }
    return ok;
}

}  // namespace kcoral::cli
