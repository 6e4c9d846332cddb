// Small helpers over the C API that never leave a Python error set. They need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

namespace kcoral::worker {

// The new reference, or an invalid object with the error cleared.
nanobind::object steal_or_clear(PyObject* reference);

// The attribute, or an invalid object.
nanobind::object get_attribute(nanobind::handle object, const char* name);

// Calls a method without arguments; what it gives or raises is dropped. An invalid object is let
// be.
void call_or_clear(nanobind::handle object, const char* method);

// The text of a str as UTF-8, lone surrogates escaped as \udXXX; nothing for another object.
std::optional<std::string> text_of(nanobind::handle object);

// A new str, from UTF-8.
nanobind::object make_str(std::string_view text);

// An already imported module, or an invalid object; imports nothing.
nanobind::object imported_module(const char* name);

// Calls `action`, which must touch nothing of Python, while other threads may run.
template <typename Action>
auto without_gil(Action action) {
    nanobind::gil_scoped_release released;
    return action();
}

}  // namespace kcoral::worker
