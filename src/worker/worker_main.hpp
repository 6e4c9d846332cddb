// A worker's life after the fork: its surroundings, then one program after the other.
#pragma once

#include "base/fd.hpp"

namespace kcoral::worker {

// Runs in the forked worker, in its workspace, with its standard streams in place, the GIL held and
// Python's fork hooks done. Gives the process's exit code when the server has closed the channel or
// the worker has served its last program.
int run_worker(Fd channel);

}  // namespace kcoral::worker
