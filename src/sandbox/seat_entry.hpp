// How the init of a seat becomes confined: a list of steps, each a line, in the order that works.
#pragma once

#include "base/error.hpp"
#include "sandbox/limits.hpp"
#include "sandbox/seat.hpp"
#include "sandbox/seccomp_filter.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

// All that the steps need, made by the launcher beforehand: they run while init borrows the
// zygote's memory and must not leave anything in it.
struct SeatEntry {
    Isolation isolation = Isolation::sandbox;
    std::string workspace;
    std::string workspaces;  // the folder of all workspaces, taken out of the seat's sight
    // Mount points below /work that must stay in sight over the workspace.
    std::vector<std::string> kept_mounts;
    SeatLimits limits;
    const Fd* cgroup = nullptr;
    // A pipe that nobody but the zygote writes to: at its end the zygote is dead. Outside the
    // sandbox only; in there, bubblewrap ends with the zygote and takes all along.
    int zygote_alive = -1;
    int zygote_alive_writer = -1;
    // The user the seat runs as, when that is not the zygote's. `own_counts`: otherwise, whether
    // it gets a user namespace, so that its processes are counted alone.
    std::optional<uid_t> user;
    bool own_counts = false;
    bool drop_capabilities = true;
    std::string tmpfs_options;  // not empty: /work is a tmpfs with these, not the workspace
    const SeccompFilter* filter = nullptr;
};

// The mount points below /work in `mountinfo` (as in /proc/self/mountinfo).
std::vector<std::string> mounts_below_workspace(std::string_view mountinfo);

// Takes every step of the entry's isolation in the calling process, PID 1 of its namespace (or of
// its session). A failure names the step. The process is then fit only to fork the worker.
Result<void> enter_seat(const SeatEntry& entry);

}  // namespace kcoral::sandbox
