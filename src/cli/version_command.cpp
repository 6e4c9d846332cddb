// kcoral version: the version, alone on a line.
#include "cli/command.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace kcoral::cli {

int print_version(const std::string&, std::vector<std::string> arguments) {
    if (!arguments.empty()) {
        fmt::print(stderr, "kcoral version takes no arguments\n");
        return usage;
    }
    fmt::print("kcoral {}\n", KCORAL_VERSION);
    return ok;
}

}  // namespace kcoral::cli
