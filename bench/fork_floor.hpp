// The floor under fresh workers, as a library that a Python process loads with ctypes.
//
// Python, as the zygote, so that what is forked is as large and as shared as a zygote is.
#pragma once

extern "C" {

// Keeps `concurrency` children in flight for `seconds`, each of which ends at once, and returns how
// many ended a second; negative after an error, which is on standard error. The calling process
// must have one thread and hold the GIL (ctypes.PyDLL): Python's own work around a fork, without
// which the child could not run a line, is part of the floor.

// One fork, as os.fork() makes it.
double bench_plain_forks(int concurrency, double seconds);

// Whole seats as the zygote launches them: init, its namespaces and mounts, the worker.
// `workspaces` is a folder for theirs.
double bench_seats(int concurrency, double seconds, int sandboxed, const char* workspaces);
}
