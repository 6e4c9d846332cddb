// Reducing a list of paths to the outermost.
#include "sandbox/paths.hpp"

#include <algorithm>

namespace kcoral::sandbox {

std::vector<std::string> without_covered(const std::vector<std::string>& paths) {
    std::vector<std::string> kept;
    for (const std::string& path : paths) {
        auto covers = [&](const std::string& other) { return lies_in(path, other); };
        if (std::ranges::any_of(kept, covers)) continue;
        std::erase_if(kept, [&](const std::string& other) { return lies_in(other, path); });
        kept.push_back(path);
    }
    return kept;
}

}  // namespace kcoral::sandbox
