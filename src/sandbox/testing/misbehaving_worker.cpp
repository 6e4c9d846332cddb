// misbehaving_worker: a zygote whose workers do what no program should.
//
//   misbehaving_worker sandboxed|plain WORKSPACES [NAME=LIMIT ...] [signalled=N] DEED[=ARGUMENT]
//   ... misbehaving_worker sandbox-probe PYTHON
//
// Launches a seat for each deed, all at once, in workspaces w0, w1, ...; prints "isolation: ..."
// first, what the deeds print, and last how each worker ended. With `signalled`, sends that signal
// to each seat's init once its worker says that it sleeps. The second form is the preflight's.
#include "base/process.hpp"
#include "sandbox/preflight.hpp"
#include "sandbox/seat.hpp"
#include "sandbox/testing/deeds.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <vector>

namespace {

using namespace kcoral;
using namespace kcoral::sandbox;

struct Running {
    Seat seat;
    Fd exit_pipe;
};

[[noreturn]] void fail(const std::string& why) {
    fmt::print("failed: {}\n", why);
    std::fflush(stdout);
    ::_exit(1);
}

bool set_limit(SeatLimits& limits, std::string_view word) {
    const std::map<std::string_view, std::uint64_t*> names = {
        {"memory", &limits.memory},       {"address_space", &limits.address_space},
        {"processes", &limits.processes}, {"open_files", &limits.open_files},
        {"file_size", &limits.file_size}, {"workspace_size", &limits.workspace_size}};
    std::size_t equals = word.find('=');
    auto found = names.find(word.substr(0, equals));
    if (found == names.end()) return false;
    *found->second = std::stoull(std::string(word.substr(equals + 1)));
    return true;
}

// Whose end stays open in workers that are to be signalled: they write a byte when they sleep.
struct Signalling {
    int number = 0;
    FdPair ready;
};

Running launch(const SeatLauncher& launcher, const SeatLimits& limits, const std::string& workspace,
               std::string_view word, const Signalling& signalling) {
    std::size_t equals = word.find('=');
    testing::Deed deed = testing::find_deed(word.substr(0, equals));
    std::string argument(equals == word.npos ? "" : word.substr(equals + 1));
    if (::mkdir(workspace.c_str(), 0700) != 0 && errno != EEXIST) fail(workspace);
    if (!deed) fail(fmt::format("no deed is called {}", word));
    auto pipe = make_pipe();
    Fd output(::fcntl(1, F_DUPFD_CLOEXEC, 3)), error(::fcntl(2, F_DUPFD_CLOEXEC, 3));
    SeatSpec spec;
    spec.workspace = workspace + (argument == "MISSING" ? "/missing" : "");
    spec.limits = limits;
    spec.standard_output = &output;
    spec.standard_error = &error;
    spec.exit_pipe = &pipe->second;
    if (signalling.number) spec.keep = {&signalling.ready.second};
    auto seat = launcher.launch(spec, [&] {
        testing::ready_descriptor = signalling.number ? signalling.ready.second.get() : -1;
        ::setvbuf(stdout, nullptr, _IOLBF, 0);
        int code = deed(argument);
        std::fflush(stdout);
        return code;
    });
    if (!seat) fail(seat.error().message);
    if (signalling.number) {
        char byte;
        if (::read(signalling.ready.first.get(), &byte, 1) != 1) fail("no worker sleeps");
        ::syscall(SYS_pidfd_send_signal, seat->pidfd.get(), signalling.number, nullptr, 0);
    }
    return {std::move(*seat), std::move(pipe->first)};
}

void wait_for(const SeatLauncher& launcher, std::vector<Running>& running, std::size_t index) {
    Running& one = running[index];
    ::waitpid(one.seat.init_pid, nullptr, 0);
    std::vector<pid_t> live;
    for (std::size_t i = index + 1; i < running.size(); ++i)
        live.push_back(running[i].seat.init_pid);
    launcher.kill_strays(live);
    int status = 0;
    bool told = ::read(one.exit_pipe.get(), &status, sizeof status) == sizeof status;
    fmt::print("worker {}: {}\n", index,
               told ? WaitStatus::from_wait(status).describe() : "its init said nothing");
}

}  // namespace

int main(int count, char** words) {
    if (count == 3 && std::string_view(words[1]) == "sandbox-probe") return run_probe(words[2]);
    if (count < 4) return 2;
    ::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::string workspaces = words[2];
    auto launcher = SeatLauncher::create(std::string_view(words[1]) == "sandboxed", workspaces);
    if (!launcher) fail(launcher.error().message);
    fmt::print("isolation: {}\n", to_string(launcher->isolation()));
    std::fflush(stdout);

    SeatLimits limits;
    Signalling signalling;
    std::vector<Running> running;
    for (std::string_view word : std::vector<std::string_view>(words + 3, words + count)) {
        if (set_limit(limits, word)) continue;
        if (word.starts_with("signalled=")) {
            signalling.number = std::stoi(std::string(word.substr(10)));
            signalling.ready = *make_pipe();
            continue;
        }
        std::string workspace = fmt::format("{}/w{}", workspaces, running.size());
        running.push_back(launch(*launcher, limits, workspace, word, signalling));
    }
    for (std::size_t i = 0; i < running.size(); ++i)
        wait_for(*launcher, running, i);
    return 0;
}
