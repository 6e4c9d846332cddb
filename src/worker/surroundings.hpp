// What a program finds around it in a fresh worker: its workspace as home and working directory,
// caches and temporary files below it, random generators of its own. Needs the GIL.
#pragma once

#include "base/error.hpp"
#include "worker/workspace.hpp"

namespace kcoral::worker {

// Enters the workspace, makes its private folders and sets the environment.
Result<void> settle_in(const Workspace& workspace);

// The same for a workspace that was cleared, when the environment is as settle_in left it.
Result<void> come_back(const Workspace& workspace);

// Forked workers would otherwise all draw the zygote's random numbers.
void reseed_generators();

}  // namespace kcoral::worker
