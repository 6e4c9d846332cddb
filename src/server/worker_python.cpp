// Finding and trying the workers' interpreter.
#include "server/worker_python.hpp"

#include "base/fd.hpp"
#include "base/process.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace kcoral::server {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> on_path(const std::string& name) {
    const char* variable = std::getenv("PATH");
    std::string_view rest = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
    while (!rest.empty()) {
        std::string_view folder = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        if (!folder.empty() && is_program(fs::path(folder) / name)) return fs::path(folder) / name;
    }
    return std::nullopt;
}

std::optional<fs::path> resolve(const std::string& name) {
    if (name.find('/') == std::string::npos) return on_path(name);
    // Absolute, but not canonical: a virtual environment's python is a link whose place matters.
    if (is_program(name)) return fs::absolute(name).lexically_normal();
    return std::nullopt;
}

std::optional<fs::path> python_in(const fs::path& folder) {
    for (const char* name : {"python3", "python"})
        if (is_program(folder / name)) return folder / name;
    return std::nullopt;
}

std::optional<fs::path> default_python(const std::string& program) {
    std::error_code ignored;
    if (auto called = resolve(program))
        if (auto python = python_in(called->parent_path())) return python;
    if (auto python = python_in(fs::read_symlink("/proc/self/exe", ignored).parent_path()))
        return python;
    if (const char* environment = std::getenv("VIRTUAL_ENV"))
        if (auto python = python_in(fs::path(environment) / "bin")) return python;
    return on_path("python3");
}

struct Trial {
    bool success;
    std::string last_line;
};

Result<Trial> try_import(const fs::path& python) {
    TRY_ASSIGN(FdPair pipe, make_pipe());
    SpawnOptions options;
    options.arguments = {python.string(), "-c", "import kcoral._core"};
    if (const char* path = std::getenv("PYTHONPATH"))
        options.environment.push_back(fmt::format("PYTHONPATH={}", path));
    options.descriptors = {{&pipe.second, 2}};
    options.die_with_parent = true;
    TRY_ASSIGN(Process process, Process::spawn(options));
    pipe.second.reset();
    std::string output;
    std::array<char, 4096> buffer;
    for (ssize_t count; (count = ::read(pipe.first.get(), buffer.data(), buffer.size())) > 0;)
        output.append(buffer.data(), static_cast<std::size_t>(count));
    while (output.ends_with('\n'))
        output.pop_back();
    return Trial{process.wait().success(), output.substr(output.rfind('\n') + 1)};
}

}  // namespace

Result<std::string> find_worker_python(const std::string& requested, const std::string& program) {
    auto python = requested.empty() ? default_python(program) : resolve(requested);
    if (!python)
        return failure(ErrorCode::not_found,
                       requested.empty()
                           ? "no Python interpreter for the workers was found; install Python 3.10 "
                             "or newer, or name one with --python"
                           : fmt::format("--python is {}: there is no such program", requested));
    TRY_ASSIGN(Trial trial, try_import(*python));
    if (!trial.success)
        return failure(
            ErrorCode::unavailable,
            fmt::format("the workers' interpreter {} cannot import KCoral's extension "
                        "({}); install it there with `{} -m pip install kcoral`, or name "
                        "another interpreter with --python",
                        python->string(), trial.last_line, python->string()));
    return python->string();
}

}  // namespace kcoral::server
