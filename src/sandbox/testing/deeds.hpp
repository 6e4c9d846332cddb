// What misbehaving_worker can do: one function a misdeed, found by name.
//
// A deed says on standard output what came of it, a line each: "WHAT: done" or "WHAT: ERROR".
#pragma once

#include <string>
#include <string_view>

namespace kcoral::sandbox::testing {

using Deed = int (*)(const std::string& argument);

// Null when there is none of that name.
Deed find_deed(std::string_view name);

// Where a deed that sleeps says so, with one byte, if anywhere.
inline int ready_descriptor = -1;

// Prints "what: done", or the error.
void report(std::string_view what, bool done);

}  // namespace kcoral::sandbox::testing
