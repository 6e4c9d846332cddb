// Walking /proc, in words that the seat's init can use too: no exceptions, no library but C's.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace kcoral::sandbox {

struct ScannedProcess {
    pid_t pid;
    pid_t parent;
    pid_t group;
    char state;       // as in /proc/PID/stat
    char name[16];    // ends with NUL; chosen by the process itself
    bool descendant;  // scratch of those who walk the tree

    bool alive() const { return state != 'Z' && state != 'X' && state != 'x'; }
};

// Fills `processes` with what is below `proc`, as far as `capacity` goes. Gives how many there
// are, or -1 with errno when `proc` cannot be read.
ssize_t scan_processes(const char* proc, ScannedProcess* processes, std::size_t capacity);

// Sets `descendant` on every process below `root`, not on root itself.
void mark_descendants(ScannedProcess* processes, std::size_t count, pid_t root);

// Kills every descendant of the calling process outside the subtrees of `spared`, and reaps those
// that are its children. Gives how many there still were, zombies included, when it struck: call
// again until there were none.
// Works on processes that fork meanwhile, ignore signals, left the session or were orphaned (the
// caller must adopt orphans: PR_SET_CHILD_SUBREAPER).
std::size_t kill_descendants(const char* proc, const pid_t* spared, std::size_t spared_count);

}  // namespace kcoral::sandbox
