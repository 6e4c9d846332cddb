// bench_floors: what the machine itself does, to hold the server's numbers against.
//
//   bench_floors upload              a socket that is only read, SHA-256 on one core
//   bench_floors forks --python ...  children of a process like the zygote, bare and as seats
//
// Prints JSON objects, one a line.
#include "base/clock.hpp"
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

// The best of several: what disturbs a floor only lowers it.
double best_sha256_speed(std::uint64_t bytes, double seconds) {
    std::vector<std::byte> data(bytes, std::byte{7});
    double best = 0;
    auto end = std::chrono::steady_clock::now() + from_seconds(seconds);
    do {
        auto begin = std::chrono::steady_clock::now();
        Digest digest = Sha256::of(data);
        data[0] = std::byte{digest.bytes[0]};  // so that none can be left out
        std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(bytes) / taken.count() / 1e6);
    } while (std::chrono::steady_clock::now() < end);
    return best;
}

Result<void> print_upload_floors(const Options& options) {
    TRY_ASSIGN(double socket, best_socket_speed(options.bytes, options.seconds));
    double sha256 = best_sha256_speed(options.bytes, options.seconds);
    protocol::JsonWriter json;
    json.begin_object();
    json.key("bytes").integer(options.bytes);
    json.key("socket_megabytes_per_second").number(socket);
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
    auto* upload = app.add_subcommand("upload", "A socket and SHA-256");
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
