// kcoral: finds the command that is meant and runs it.
#include "cli/command.hpp"
#include "sandbox/preflight.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace kcoral::cli {
namespace {

struct Command {
    const char* name;
    const char* summary;
    int (*run)(const std::string& program, std::vector<std::string> arguments);
};

const Command commands[] = {
    {"server", "Own this machine's devices and run programs on them", run_server},
    {"version", "Print the version", print_version},
};

void print_help() {
    fmt::print(
        "kcoral - a benchmark server for GPU programming\n\nUsage: kcoral COMMAND [OPTIONS]\n\n");
    for (const Command& command : commands)
        fmt::print("  {:<10} {}\n", command.name, command.summary);
    fmt::print(
        "\nServer options without a command mean `kcoral server`. Every command knows --help.\n\n"
        "Examples:\n  kcoral server --device cpu --num-workers 4\n  kcoral server --help\n");
}

int dispatch(const std::string& program, std::vector<std::string> arguments) {
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
        arguments[0] == "help") {
        print_help();
        return ok;
    }
    if (arguments[0] == "--version") return print_version(program, {});
    // How the sandbox's preflight starts us inside the sandbox; not for people.
    if (arguments[0] == "sandbox-probe" && arguments.size() == 2)
        return sandbox::run_probe(arguments[1]);
    if (arguments[0].starts_with("-")) return run_server(program, std::move(arguments));
    for (const Command& command : commands)
        if (arguments[0] == command.name)
            return command.run(program, {arguments.begin() + 1, arguments.end()});
    fmt::print(stderr, "kcoral: there is no command '{}'; `kcoral --help` lists them\n",
               arguments[0]);
    return usage;
}

}  // namespace
}  // namespace kcoral::cli

int main(int argc, char** argv) {
    try {
        return kcoral::cli::dispatch(argv[0], {argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "kcoral: {}\n", error.what());
        return kcoral::cli::failed;
    }
}
