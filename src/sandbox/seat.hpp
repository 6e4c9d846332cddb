// Seat: the process tree of one worker, as the zygote launches it.
//
//   zygote ──fork──▶ init ──fork──▶ worker ──▶ whatever the program starts
//
// init is PID 1 of the seat's own PID namespace (except in Isolation::session). It enters the
// seat's other namespaces, gives up every privilege, forks the worker as PID 2, then only reaps,
// forwards SIGTERM to the worker, and waits. When the worker ends, init writes its wait status and
// exits, and the kernel kills all that is left of the tree; killing init kills the tree just so.
// When the zygote dies its seats die too.
//
// Called by the zygote, which must have one thread.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "sandbox/limits.hpp"

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
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

// Work before and after fork(2) in the zygote that only its interpreter knows how to do. What the
// worker needs after the forks is worker_main's first act.
struct ForkHooks {
    std::function<void()> before;
    std::function<void()> after_in_parent;
};

struct SeatSpec {
    Isolation isolation = Isolation::sandbox;
    // The folder of the program's files as the zygote sees it. In the sandbox it becomes /work;
    // otherwise it stays where it is. Either way it is the worker's working directory.
    std::string workspace;
    SeatLimits limits;
    // The worker's standard streams (its standard input is /dev/null). init writes to
    // `standard_error` too, when it cannot set the seat up.
    const Fd* standard_output = nullptr;
    const Fd* standard_error = nullptr;
    // init writes the worker's wait status here, an int as wait(2) gives it, as its last act. It
    // is `setup_failed` as exit code when there was no worker.
    const Fd* exit_pipe = nullptr;
    // Descriptors the worker keeps, under their numbers. It gets no others.
    std::vector<const Fd*> keep;
    // Opened `cgroup.procs` of the seat's cgroup, or null.
    const Fd* cgroup = nullptr;
    ForkHooks hooks;
};

// What a worker's status says when init could not set the seat up; the reason is on standard error.
constexpr int setup_failed = 125;

struct Seat {
    pid_t init_pid = -1;  // the zygote reaps it
    Fd pidfd;             // of init: readable once the whole tree is gone
};

// The worker's whole life; its result is the worker's exit code. Exceptions must stay inside.
using WorkerMain = std::function<int()>;

// Forks the seat and returns at once. What goes wrong after the fork shows as `setup_failed`.
Result<Seat> launch_seat(const SeatSpec& spec, const WorkerMain& worker_main);

// Readies the calling process, the zygote, for launching seats: call once, before the first, with
// `sandboxed` as whether it runs inside the bubblewrap of zygote_command(). Tries a seat, so that
// what does not work here is known before a request meets it. In the sandbox, fails with the step
// that was refused; outside, falls back to `session`, and `why_not_better` says why.
struct Readiness {
    Isolation isolation;
    std::string why_not_better;
};
Result<Readiness> prepare_zygote(bool sandboxed, const std::string& workspaces);

// Isolation::session only, after an init was reaped: kills what it left behind when it was itself
// killed, that is every descendant of the calling process outside the seats `live`. Does nothing
// in the other isolations.
void kill_strays(Isolation isolation, std::span<const pid_t> live);

}  // namespace kcoral::sandbox
