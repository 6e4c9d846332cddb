// Forking children and reaping them, nothing between.
#include "fork_floor.hpp"

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "sandbox/limits.hpp"
#include "sandbox/seat.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Of the process that loads us.
extern "C" {
void PyOS_BeforeFork();
void PyOS_AfterFork_Parent();
void PyOS_AfterFork_Child();
}

namespace kcoral::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Starts a child in place `place` of the `concurrency` ones and returns its pid.
using StartChild = std::function<Result<pid_t>(int place)>;

Result<double> rate_of(int concurrency, double seconds, const StartChild& start) {
    std::map<pid_t, int> places;
    for (int place = 0; place < concurrency; ++place) {
        TRY_ASSIGN(pid_t child, start(place));
        places[child] = place;
    }
    auto begin = Clock::now();
    auto end = begin + from_seconds(seconds);
    std::uint64_t ended = 0;
    while (!places.empty()) {
        pid_t child = ::waitpid(-1, nullptr, 0);
        if (child < 0) return errno_failure("waiting for children");
        auto found = places.find(child);
        if (found == places.end()) continue;
        int place = found->second;
        places.erase(found);
        if (Clock::now() >= end) continue;
        ++ended;
        TRY_ASSIGN(pid_t next, start(place));
        places[next] = place;
    }
    return static_cast<double>(ended) / seconds;
}

Result<pid_t> fork_plainly(int) {
    PyOS_BeforeFork();
    pid_t child = ::fork();
    if (child == 0) {
        PyOS_AfterFork_Child();
        ::_exit(0);
    }
    PyOS_AfterFork_Parent();
    if (child < 0) return errno_failure("forking");
    return child;
}

class Seats {
  public:
    static Result<Seats> create(bool sandboxed, std::string workspaces) {
        TRY_ASSIGN(auto launcher, sandbox::SeatLauncher::create(sandboxed, workspaces));
        TRY_ASSIGN(FdPair exit_pipe, make_pipe());
        TRY(set_nonblocking(exit_pipe.first));
        Fd output(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        if (!output) return errno_failure("opening /dev/null");
        return Seats(std::move(launcher), std::move(workspaces), std::move(exit_pipe),
                     std::move(output));
    }

    Result<pid_t> launch(int place) {
        TRY(look_at_ends());
        std::string workspace = fmt::format("{}/floor-{}", workspaces_, place);
        if (::mkdir(workspace.c_str(), 0700) != 0 && errno != EEXIST)
            return errno_failure("making " + workspace);
        sandbox::SeatSpec spec;
        spec.workspace = workspace;
        spec.standard_output = &output_;
        spec.standard_error = &output_;
        spec.exit_pipe = &exit_pipe_.second;
        spec.hooks = {&PyOS_BeforeFork, &PyOS_AfterFork_Parent};
        auto worker = [] {
            PyOS_AfterFork_Child();
            return 0;
        };
        TRY_ASSIGN(sandbox::Seat seat, launcher_.launch(spec, worker));
        return seat.init_pid;
    }

  private:
    Seats(sandbox::SeatLauncher launcher, std::string workspaces, FdPair exit_pipe, Fd output)
        : launcher_(std::move(launcher)),
          workspaces_(std::move(workspaces)),
          exit_pipe_(std::move(exit_pipe)),
          output_(std::move(output)) {}

    // A rate of seats that could not be set up means nothing.
    Result<void> look_at_ends() {
        int status = 0;
        while (::read(exit_pipe_.first.get(), &status, sizeof status) == sizeof status)
            if (status != 0)
                return failure(ErrorCode::unavailable,
                               fmt::format("a worker ended with status {}", status));
        return {};
    }

    sandbox::SeatLauncher launcher_;
    std::string workspaces_;
    FdPair exit_pipe_;
    Fd output_;
};

double answer(const Result<double>& rate) {
    if (rate) return *rate;
    fmt::print(stderr, "fork_floor: {}\n", rate.error().message);
    return -1;
}

}  // namespace
}  // namespace kcoral::bench

double bench_plain_forks(int concurrency, double seconds) {
    using namespace kcoral::bench;
    return answer(rate_of(concurrency, seconds, fork_plainly));
}

double bench_seats(int concurrency, double seconds, int sandboxed, const char* workspaces) {
    using namespace kcoral::bench;
    auto run = [&]() -> kcoral::Result<double> {
        TRY_ASSIGN(Seats seats, Seats::create(sandboxed != 0, workspaces));
        return rate_of(concurrency, seconds, [&](int place) { return seats.launch(place); });
    };
    return answer(run());
}
