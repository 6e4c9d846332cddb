// Descriptors that a worker keeps for itself while programs run: high numbers, out of the way of
// programs that close or replace low ones.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

namespace kcoral::worker {

// The same file under a high number, where the limit of descriptors leaves one; else as it is.
Fd move_out_of_the_way(Fd file);

// Makes the channel the worker's alone: it is closed in every process that the worker forks. Call
// once, in the worker.
Result<Fd> keep_to_worker(Fd channel);

// Is this process the worker, not one that it forked?
bool is_the_worker();

}  // namespace kcoral::worker
