// The worker's end of its channel, kept to the worker alone.
//
// It gets a high number, out of the way of programs that close or replace low ones, and is closed
// in every process that the worker forks.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

namespace kcoral::worker {

// Call once, in the worker.
Result<Fd> keep_to_worker(Fd channel);

// Is this process the worker, not one that it forked?
bool is_the_worker();

}  // namespace kcoral::worker
