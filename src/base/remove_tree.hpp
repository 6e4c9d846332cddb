// remove_tree: deletes a folder and everything below it, whatever its contents were made to be.
#pragma once

#include "base/error.hpp"

#include <string>

namespace kcoral {

// Follows no symlink, opens up folders whose permissions were taken away, and needs no more stack
// or descriptors the deeper the tree is. A path that is not there is no error. Blocking. Nobody may
// be changing the tree meanwhile.
Result<void> remove_tree(const std::string& path);

}  // namespace kcoral
