// A worker's life after the fork: its surroundings, then one program after the other.
#pragma once

#include "base/fd.hpp"
#include "worker/module_state.hpp"

namespace kcoral::worker {

// Runs in the forked worker, in its workspace, with its standard streams in place, the GIL held and
// Python's fork hooks done; `modules` is the state it was forked with. Gives the process's exit
// code when the server has closed the channel or the worker has served its last program.
int run_worker(Fd channel, ModuleState& modules);

}  // namespace kcoral::worker
