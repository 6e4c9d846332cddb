// Integers of any size as decimal digits and back, past the interpreter's own limit of 4300 digits.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace kcoral::worker {

// Of an int or an instance of a subclass. Throws InstructionFailed when memory runs out.
std::string digits_of(nanobind::handle integer);

// A new int from digits with an optional minus. Throws nanobind::python_error.
nanobind::object integer_from(std::string_view digits);

}  // namespace kcoral::worker
