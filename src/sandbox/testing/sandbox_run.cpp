// Starting misbehaving_worker and reading what it prints.
#include "sandbox/testing/sandbox_run.hpp"

#include "base/remove_tree.hpp"
#include "sandbox/preflight.hpp"
#include "sandbox/zygote_command.hpp"

#include <fmt/format.h>

#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace kcoral::sandbox::testing {
namespace {

constexpr unsigned nobody = 65534;

void must(bool done, const char* what) {
    if (!done) throw std::runtime_error(what);
}

}  // namespace

std::string to_string(Who who) {
    return who == Who::root ? "root" : "plain_user";
}

std::string to_string(Where where) {
    switch (where) {
        case Where::sandbox:
            return "sandbox";
        case Where::host:
            return "host";
        case Where::barred:
            return "barred";
    }
    return "?";
}

SandboxRun::SandboxRun(Who who, Where where) : who_(who), where_(where) {
    folder_ = "/tmp/kcoral-sandbox-XXXXXX";
    must(::mkdtemp(folder_.data()), "mkdtemp");
    ::chmod(folder_.c_str(), 0755);
    workspaces_ = folder_ + "/workspaces";
    must(::mkdir(workspaces_.c_str(), 0700) == 0, "mkdir");
    if (who == Who::plain_user && ::geteuid() == 0)
        must(::chown(workspaces_.c_str(), nobody, nobody) == 0, "chown");
    policy_.python.executable = "/usr/bin/python3";
    policy_.workspaces = workspaces_;
    policy_.readonly_paths = {MISBEHAVING_WORKER};
    policy_.root = who == Who::root;
}

SandboxRun::~SandboxRun() {
    process_ = Process();
    [[maybe_unused]] auto removed = remove_tree(folder_);
}

std::string SandboxRun::why_impossible() const {
    if (who_ == Who::root && ::geteuid() != 0) return "root: the tests run as a plain user";
    std::vector<std::string> probe;
    if (who_ == Who::plain_user && ::geteuid() == 0)
        probe = {"setpriv", fmt::format("--reuid={}", nobody), "--clear-groups"};
    for (const char* word :
         {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"})
        probe.push_back(word);
    auto tried = Process::spawn({.arguments = probe, .environment = {"PATH=/usr/bin:/bin"}});
    if (!tried) return tried.error().message;
    return tried->wait().success() ? "" : "bubblewrap with namespaces";
}

std::vector<std::string> SandboxRun::command(const std::vector<std::string>& words) const {
    std::vector<std::string> program = {MISBEHAVING_WORKER};
    program.push_back(where_ == Where::sandbox ? "sandboxed" : "plain");
    program.push_back(where_ == Where::sandbox ? std::string(zygote_workspaces) : workspaces_);
    program.insert(program.end(), words.begin(), words.end());
    std::vector<std::string> all;
    if (who_ == Who::plain_user && ::geteuid() == 0)
        all = {"setpriv", fmt::format("--reuid={}", nobody), fmt::format("--regid={}", nobody),
               "--clear-groups"};
    std::vector<std::string> rest = program;
    if (where_ == Where::sandbox) {
        auto written = write_system_files(policy_);
        must(written.has_value(), "write_system_files");
        if (who_ == Who::plain_user && ::geteuid() == 0)
            must(::chown((workspaces_ + "/.system").c_str(), nobody, nobody) == 0, "chown");
        rest = zygote_command(policy_, program);
    }
    if (where_ == Where::barred) {
        rest = {"bwrap",          "--dev-bind",       "/",          "/",   "--die-with-parent",
                "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--"};
        rest.insert(rest.end(), program.begin(), program.end());
    }
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

void SandboxRun::start(const std::vector<std::string>& words) {
    auto pipe = make_pipe();
    must(pipe.has_value(), "pipe");
    output_ = std::move(pipe->first);
    read_.clear();
    SpawnOptions options;
    options.arguments = command(words);
    options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "SECRET_TOKEN=hidden"};
    options.descriptors = {{&pipe->second, 1}, {&pipe->second, 2}};
    options.die_with_parent = true;
    auto process = Process::spawn(options);
    if (!process) throw std::runtime_error(process.error().message);
    process_ = std::move(*process);
}

std::string SandboxRun::preflight(const Policy& policy) const {
    auto pipe = make_pipe();
    pid_t pid = ::fork();
    if (pid == 0) {
        if (who_ == Who::plain_user && ::geteuid() == 0) {
            ::setgroups(0, nullptr);
            if (::setresgid(nobody, nobody, nobody) || ::setresuid(nobody, nobody, nobody))
                ::_exit(1);
        }
        auto failed = sandbox::preflight(policy, {MISBEHAVING_WORKER, {"sandbox-probe"}});
        if (failed) [[maybe_unused]]
            auto written = write_all(pipe->second, as_bytes(failed->cause));
        ::_exit(0);
    }
    pipe->second.reset();
    std::array<char, 4096> cause;
    ssize_t size = ::read(pipe->first.get(), cause.data(), cause.size());
    int status = 0;
    ::waitpid(pid, &status, 0);
    must(status == 0, "becoming a plain user");
    return {cause.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

bool SandboxRun::read_some() {
    std::array<char, 4096> buffer;
    pollfd readable{output_.get(), POLLIN, 0};
    constexpr int patience = 60'000;  // of a hanging test only
    if (::poll(&readable, 1, patience) != 1)
        throw std::runtime_error("no end of output; so far: " + read_);
    ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count <= 0) return false;
    read_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

std::string SandboxRun::wait_for_line(std::string_view beginning) {
    std::string wanted = "\n" + std::string(beginning);
    do {
        std::string text = "\n" + read_;
        std::size_t at = text.find(wanted);
        if (at == text.npos) continue;
        std::size_t end = text.find('\n', at + 1);
        if (end != text.npos) return text.substr(at + 1, end - at - 1);
    } while (read_some());
    return "";
}

std::string SandboxRun::read_all() {
    while (read_some()) {
    }
    return read_;
}

}  // namespace kcoral::sandbox::testing
