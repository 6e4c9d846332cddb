// bench_floors: what the machine itself does, to hold the server's numbers against.
//
//   bench_floors upload              a socket that is only read, fresh memory, SHA-256 on one core
//   bench_floors forks --python ...  children of a process like the zygote, bare and as seats
//
// Prints JSON objects, one a line.
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/remove_tree.hpp"
#include "base/sha256.hpp"
#include "protocol/json_writer.hpp"
#include "sandbox/policy.hpp"
#include "sandbox/worker_environment.hpp"
#include "sandbox/zygote_command.hpp"
#include "socket_floor.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace kcoral::bench {
namespace {

struct Options {
    std::uint64_t bytes = 64 << 20;
    double seconds = 1;
    std::string python = "python3";
    std::string concurrency = "1,2,8";
    bool no_sandbox = false;
};

// MB/s (10^6 bytes) of the best of the rounds that fit in `seconds`: what disturbs a floor only
// lowers it.
template <typename Round>
Result<double> best_speed(std::uint64_t bytes, double seconds, Round round) {
    double best = 0;
    auto end = std::chrono::steady_clock::now() + from_seconds(seconds);
    do {
        auto begin = std::chrono::steady_clock::now();
        TRY(round());
        std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(bytes) / taken.count() / 1e6);
    } while (std::chrono::steady_clock::now() < end);
    return best;
}

Result<void> write_to_fresh_memory(ByteView data) {
    TRY_ASSIGN(Fd file, make_memory_file("bench-floor"));
    constexpr std::size_t chunk = 256 << 10;  // as the server reads bodies
    for (; !data.empty(); data = data.subspan(std::min(chunk, data.size())))
        TRY(write_all(file, data.first(std::min(chunk, data.size()))));
    return {};
}

Result<void> print_upload_floors(const Options& options) {
    std::uint64_t bytes = options.bytes;
    std::vector<std::byte> data(bytes, std::byte{7});
    auto read_socket = [&] { return send_through_socket(data); };
    auto write_memory = [&] { return write_to_fresh_memory(data); };
    auto hash = [&]() -> Result<void> {
        data[0] = std::byte{Sha256::of(data).bytes[0]};  // so that no round can be left out
        return {};
    };
    TRY_ASSIGN(double socket, best_speed(bytes, options.seconds, read_socket));
    TRY_ASSIGN(double memory, best_speed(bytes, options.seconds, write_memory));
    TRY_ASSIGN(double sha256, best_speed(bytes, options.seconds, hash));
    protocol::JsonWriter json;
    json.begin_object();
    json.key("bytes").integer(bytes);
    json.key("socket_megabytes_per_second").number(socket);
    json.key("memory_megabytes_per_second").number(memory);
    json.key("sha256_megabytes_per_second").number(sha256);
    json.end_object();
    fmt::print("{}\n", std::move(json).take());
    return {};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

sandbox::Environment own_environment() {
    sandbox::Environment variables;
    for (char** variable = environ; *variable; ++variable)
        variables.emplace_back(*variable);
    return variables;
}

// Starts fork_floor.py as the server starts its zygote.
Result<int> run_fork_floors(const Options& options, const std::string& workspaces) {
    std::error_code ignored;
    auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    sandbox::Policy policy;
    TRY_ASSIGN(policy.python, sandbox::find_python_environment(options.python));
    policy.workspaces = workspaces;
    policy.readonly_paths = {here, KCORAL_BENCH_SOURCE};
    policy.root = ::geteuid() == 0;
    bool sandboxed = !options.no_sandbox;
    std::vector<std::string> program{
        policy.python.executable,
        KCORAL_BENCH_SOURCE "/fork_floor.py",
        here / "libbench_fork_floor.so",
        options.concurrency,
        std::to_string(options.seconds),
        sandboxed ? std::string(sandbox::zygote_workspaces) : workspaces,
        sandboxed ? "1" : "0",
    };
    if (sandboxed) {
        TRY(sandbox::check(policy));
        TRY(sandbox::write_system_files(policy));
        program = sandbox::zygote_command(policy, program);
    }
    auto environment = sandbox::worker_environment(policy, own_environment(), sandboxed, "");
    std::fflush(stdout);
    pid_t child = ::fork();
    if (child < 0) return errno_failure("forking");
    if (child == 0) {
        auto arguments = pointers(program);
        auto variables = pointers(environment);
        ::execvpe(arguments[0], arguments.data(), variables.data());
        ::perror(arguments[0]);
        ::_exit(127);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) < 0) return errno_failure("waiting");
    return status;
}

Result<void> print_fork_floors(const Options& options) {
    std::string workspaces = std::filesystem::temp_directory_path() / "kcoral-floors-XXXXXX";
    if (!::mkdtemp(workspaces.data())) return errno_failure("making a folder");
    auto status = run_fork_floors(options, workspaces);
    TRY(remove_tree(workspaces));
    TRY(status);
    if (*status != 0) return failure(ErrorCode::unavailable, "the forking process failed");
    return {};
}

}  // namespace
}  // namespace kcoral::bench

int main(int argc, char** argv) {
    using namespace kcoral::bench;
    Options options;
    CLI::App app("The floors under the server's numbers.", "bench_floors");
    app.option_defaults()->always_capture_default();
    app.require_subcommand(1);
    auto* upload = app.add_subcommand("upload", "A socket, fresh memory and SHA-256");
    upload->add_option("--bytes", options.bytes, "Of one transfer");
    upload->add_option("--seconds", options.seconds, "For each floor");
    auto* forks = app.add_subcommand("forks", "Children of a process like the zygote");
    forks->add_option("--python", options.python, "The workers' interpreter");
    forks->add_option("--concurrency", options.concurrency, "Children at a time, comma-separated");
    forks->add_option("--seconds", options.seconds, "For each floor");
    forks->add_flag("--no-sandbox", options.no_sandbox, "Seats without bubblewrap");
    CLI11_PARSE(app, argc, argv);
    auto done = *upload ? print_upload_floors(options) : print_fork_floors(options);
    if (done) return 0;
    fmt::print(stderr, "bench_floors: {}\n", done.error().message);
    return 1;
}
