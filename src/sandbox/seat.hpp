// Seat: the process tree of one worker, as the zygote launches it.
//
//   zygote ──vfork──▶ init ──fork──▶ worker ──▶ whatever the program starts
//
// init is PID 1 of the seat's own PID namespace (except in Isolation::session). It enters the
// seat's other namespaces, gives up every privilege, forks the worker as PID 2, and becomes a tiny
// program that only reaps and forwards SIGTERM to the worker. When the worker ends, init writes
// its wait status and exits, and the kernel kills all that is left of the tree; killing init kills
// the tree just so. When the zygote dies its seats die too.
//
// The zygote's image is copied once a seat: init borrows the zygote's memory while the zygote
// stands still, and leaves it by exec.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "sandbox/limits.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

enum class Isolation {
    // Inside the bubblewrap of zygote_command(): own PID, mount, IPC and network namespaces, only
    // /work writable, no capabilities, no_new_privs, the seccomp filter.
    sandbox,
    // Without a sandbox: a PID namespace and a /proc that shows it. Only keeps the tree killable.
    process_tree,
    // Where not even that is allowed: a session whose init adopts every orphan and, at the end,
    // kills descendants until none is left.
    session,
};

std::string_view to_string(Isolation isolation);

// Work around fork(2) in the zygote that only its interpreter knows how to do. What the worker
// needs after the fork is its WorkerMain's first act.
struct ForkHooks {
    std::function<void()> before;
    std::function<void()> after_in_parent;
};

struct SeatSpec {
    // The folder of the program's files as the zygote sees it. In the sandbox it becomes /work;
    // otherwise it stays where it is. Either way it is the worker's working directory.
    std::string workspace;
    SeatLimits limits;
    // The worker's standard streams (its standard input is /dev/null). init writes to
    // `standard_error` too, when it cannot set the seat up.
    const Fd* standard_output = nullptr;
    const Fd* standard_error = nullptr;
    // init writes the worker's wait status here, an int as wait(2) gives it, as its last act.
    const Fd* exit_pipe = nullptr;
    // Descriptors the worker keeps, under their numbers. It gets no others.
    std::vector<const Fd*> keep;
    // Opened `cgroup.procs` of the seat's cgroup, or null.
    const Fd* cgroup = nullptr;
    ForkHooks hooks;
};

// The exit code of a "worker" that never was, because init could not set the seat up; the reason
// is on standard error.
constexpr int setup_failed = 125;

struct Seat {
    pid_t init_pid = -1;  // a child of the zygote, which must reap it
    Fd pidfd;             // of init: readable once the whole tree is gone
};

// The worker's whole life; its result is the worker's exit code. Exceptions must stay inside.
using WorkerMain = std::function<int()>;

// Launches seats from the calling process, the zygote, which must have one thread.
class SeatLauncher {
  public:
    // Readies the process, with `sandboxed` as whether it runs inside the bubblewrap of
    // zygote_command(), and tries a seat in a folder it makes below `workspaces`, so that what
    // does not work here is known before a request meets it. In the sandbox it fails with the step
    // that was refused; outside it falls back to Isolation::session.
    static Result<SeatLauncher> create(bool sandboxed, const std::string& workspaces);

    SeatLauncher(SeatLauncher&&) noexcept;
    SeatLauncher& operator=(SeatLauncher&&) noexcept;
    ~SeatLauncher();

    Isolation isolation() const;
    // Why there is no process_tree when isolation() is session; else empty.
    const std::string& why_not_better() const;

    // Returns once the worker runs. What is refused after the fork is no failure here: it shows
    // as a worker that ended with `setup_failed`.
    Result<Seat> launch(const SeatSpec& spec, const WorkerMain& worker_main) const;

    // To be called after an init was reaped: in a session, kills what an init that was itself
    // killed left behind, that is every descendant of the zygote outside the seats `live`.
    void kill_strays(std::span<const pid_t> live) const;

  private:
    struct State;
    explicit SeatLauncher(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace kcoral::sandbox
