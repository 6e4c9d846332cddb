// PythonEnvironment: the interpreter workers run and every path it needs to be readable.
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

struct PythonEnvironment {
    std::string executable;  // the real interpreter's path: of a venv, its own; never a shim
    // Absolute and free of repetition: prefixes, the standard library, what sys.path names, where
    // editable packages lie, each symbolic link to the interpreter with what it points to. A home
    // folder as a whole is never among them, even if sys.path names it.
    std::vector<std::string> paths;
    // Of packages installed for the user alone, where sys.path holds them: PYTHONUSERBASE, since
    // workers have another home. Else empty.
    std::string user_base;

    bool operator==(const PythonEnvironment&) const = default;
};

// Asks the interpreter itself, which takes as long as Python takes to start. `python` is a path or
// a name on PATH. `not_found` when there is none, `unavailable` when it does not work.
Result<PythonEnvironment> find_python_environment(const std::string& python);

// What that makes of the interpreter's answer.
Result<PythonEnvironment> parse_python_environment(std::string_view answer);

}  // namespace kcoral::sandbox
