// Arguments of a run: JSON values as Python objects.
#pragma once

#include "protocol/json.hpp"

#include <nanobind/nanobind.h>

namespace kcoral::worker {

// None, bool, int of any size, float, str, list, dict. Throws nanobind::python_error. Needs the
// GIL.
nanobind::object to_python(const protocol::Json& json);

}  // namespace kcoral::worker
