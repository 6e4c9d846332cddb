// Process: a child program, owned through its pidfd, and WaitStatus: how a process ended.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kcoral {

// How a process ended, read from a wait status in one place for logs, results and tests.
class WaitStatus {
  public:
    static WaitStatus exited(int code) { return WaitStatus(code, 0); }
    static WaitStatus signaled(int signal) { return WaitStatus(0, signal); }
    // From the status word of wait(2).
    static WaitStatus from_wait(int status);

    bool success() const { return code_ == 0 && signal_ == 0; }
    std::optional<int> exit_code() const;
    std::optional<int> signal() const;
    // "exited with code 3", "was killed by signal 11 (SIGSEGV)".
    std::string describe() const;

    bool operator==(const WaitStatus&) const = default;

  private:
    WaitStatus(int code, int signal) : code_(code), signal_(signal) {}
    int code_;
    int signal_;  // 0 when the process exited
};

struct SpawnOptions {
    std::vector<std::string> arguments;    // argv; the first is looked up on PATH
    std::vector<std::string> environment;  // all of it, "NAME=value"
    // Which descriptors the child gets, and under which numbers. Standard streams that are not
    // named here stay ours; every other descriptor is closed.
    std::vector<std::pair<const Fd*, int>> descriptors;
    std::string directory;  // empty: ours
    // An own session, out of reach of the terminal's Ctrl+C.
    bool new_session = false;
    // SIGKILL to the child when the thread that spawned it dies.
    bool die_with_parent = false;
};

// Owner of a child: its destructor kills and reaps, so no process outlives its owner and nobody
// signals a number that belongs to a stranger. Single-threaded use.
class Process {
  public:
    // Fails with what exec(2) said when the program cannot be started.
    static Result<Process> spawn(const SpawnOptions& options);

    Process() = default;
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    pid_t pid() const { return pid_; }
    // Readable once the process has ended: wait on it, then call try_wait.
    const Fd& pidfd() const { return pidfd_; }
    bool running() const { return pid_ > 0; }

    // No effect once reaped.
    void signal(int number);
    // Reaps if the process has ended.
    std::optional<WaitStatus> try_wait();
    // Blocks until it has ended. Only while running().
    WaitStatus wait();

  private:
    void end();

    pid_t pid_ = -1;
    Fd pidfd_;
};

}  // namespace kcoral
