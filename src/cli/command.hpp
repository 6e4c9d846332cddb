// The commands of the command line: one file each, listed in main.cpp.
#pragma once

#include <string>
#include <vector>

namespace kcoral::cli {

// What a command's process returns to its caller.
enum ExitCode : int { ok = 0, failed = 1, usage = 2 };

// `arguments` are those after the command's name. Each returns the exit code.
int run_server(const std::string& program, std::vector<std::string> arguments);
int print_version(const std::string& program, std::vector<std::string> arguments);

}  // namespace kcoral::cli
