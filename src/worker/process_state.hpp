// ProcessState: what the kernel and the C library hold of a worker that a program may have changed,
// taken before the first program and restored after each.
//
// Environment, umask, signal dispositions and mask, timers, limits, affinity, locale, standard
// streams. What cannot be restored (niceness, hard limits, new threads and descriptors) is named.
// Python's own view of the environment and the signals is module_state's matter. No Python needed.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace kcoral::worker {

class ProcessState {
  public:
    static Result<ProcessState> take();

    // Nothing when all is as it was; otherwise why the process must not serve again.
    std::optional<std::string> restore() const;

  private:
    ProcessState() = default;
    std::optional<std::string> restore_limits() const;
    std::optional<std::string> restore_streams() const;
    void restore_environment() const;
    void restore_signals() const;

    std::vector<std::string> environment_;
    mode_t umask_ = 0;
    std::array<struct sigaction, 65> actions_{};
    sigset_t mask_{};
    std::array<rlimit, RLIM_NLIMITS> limits_{};
    cpu_set_t affinity_{};
    int niceness_ = 0;
    std::string locale_;
    std::array<Fd, 3> streams_;  // copies of 0, 1, 2
    std::vector<int> descriptors_;
    std::size_t threads_ = 0;
};

}  // namespace kcoral::worker
