// Which exceptions mean that a compiler failed, told by names: no compiler's package is imported.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace kcoral::worker {

// Looks at the exception's type, its message, and what it was explicitly raised from. Needs the
// GIL; leaves no Python error behind.
bool is_compiler_error(nanobind::handle exception, std::string_view message);

// Does the exception's type, or a base of it, have this name in this package or below it?
bool has_type(nanobind::handle exception, std::string_view package, std::string_view name);

}  // namespace kcoral::worker
