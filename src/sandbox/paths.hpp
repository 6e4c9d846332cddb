// Questions about absolute paths that need no file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

// Whether `path` is `folder` or below it.
inline bool lies_in(std::string_view path, std::string_view folder) {
    if (!path.starts_with(folder)) return false;
    return path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/';
}

// Drops paths that lie in another, keeping the order.
std::vector<std::string> without_covered(const std::vector<std::string>& paths);

}  // namespace kcoral::sandbox
