// Which Python the workers run on.
#pragma once

#include "base/error.hpp"

#include <string>

namespace kcoral::server {

// The interpreter that `requested` names (a path, or a name to look up on PATH), or, when that is
// empty, that of the environment kcoral is installed in (the folder of `program`, the binary as it
// was called, or of the file behind it), of an activated virtual environment, or python3 on PATH.
// Fails with what to do when there is none, or when it cannot import KCoral's extension. Blocking:
// it starts the interpreter once.
Result<std::string> find_worker_python(const std::string& requested, const std::string& program);

}  // namespace kcoral::server
