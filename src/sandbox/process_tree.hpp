// ProcessTree: which processes of a seat live besides its init and its worker.
//
// The worker asks at the end of a program whether it left any behind, gives them a while, and
// kills the rest. Zombies do not count: whoever left them unreaped, they run no more. Works in a
// PID namespace and in a plain session alike, since orphans become children of init in both.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace kcoral::sandbox {

struct ProcessEntry {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';  // as in /proc/PID/stat
    std::string name;  // at most 15 bytes, chosen by the process itself

    bool alive() const { return state != 'Z' && state != 'X' && state != 'x'; }
    bool operator==(const ProcessEntry&) const = default;
};

// Every process below `proc`, in no special order.
Result<std::vector<ProcessEntry>> list_processes(const std::string& proc = "/proc");

class ProcessTree {
  public:
    // The tree below `init`. `worker` is not part of what is looked for, its descendants are.
    ProcessTree(pid_t init, pid_t worker, std::string proc = "/proc")
        : init_(init), worker_(worker), proc_(std::move(proc)) {}
    // The tree the calling process is the worker of.
    static ProcessTree of_this_worker();

    // The live processes of the tree other than init and the worker.
    Result<std::vector<ProcessEntry>> left_over() const;
    // Waits until there are none, or until `deadline`; says who still lives.
    Result<std::vector<ProcessEntry>> wait_until_gone(SteadyTime deadline) const;
    // Sends a signal to each.
    Result<void> signal(int number) const;
    // Kills them, however many they become meanwhile, and returns once none lives. `timeout` if
    // some are still not dead by `deadline` (the kernel holds them, in a driver say).
    Result<void> kill(SteadyTime deadline) const;

  private:
    pid_t init_;
    pid_t worker_;
    std::string proc_;
};

}  // namespace kcoral::sandbox
