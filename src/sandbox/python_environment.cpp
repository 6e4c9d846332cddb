// Asking a Python where everything it needs lies.
#include "sandbox/python_environment.hpp"

#include "base/process.hpp"
#include "sandbox/paths.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>

namespace kcoral::sandbox {
namespace {

// Prints lines of a word and a path. Standard output may carry what site hooks print, so ours
// begin with a mark.
constexpr const char* question = R"(
import importlib.util, os, site, sys
def tell(word, path):
    if path and os.path.isabs(path) and "\n" not in path:
        print("kcoral:" + word, path)
tell("executable", sys.executable)
link = sys.executable
for _ in range(40):
    tell("path", link)
    if not os.path.islink(link):
        break
    link = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
for path in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path):
    if path and os.path.exists(path):
        tell("path", os.path.abspath(path))
        tell("path", os.path.realpath(path))
spec = importlib.util.find_spec("kcoral")
for path in (spec and spec.submodule_search_locations) or ():
    tell("path", os.path.realpath(path))
for finder in sys.meta_path:
    module = sys.modules.get(getattr(finder, "__module__", ""))
    for path in dict(getattr(module, "MAPPING", None) or {}).values():
        tell("path", os.path.realpath(str(path)))
if site.ENABLE_USER_SITE and site.getusersitepackages() in sys.path:
    tell("user_base", site.getuserbase())
home = os.path.expanduser("~")
tell("home", home)
tell("home", os.path.realpath(home))
)";

bool is_home(std::string_view path, const std::vector<std::string>& homes) {
    for (const std::string& home : homes)
        if (lies_in(home, path)) return true;  // the home or a folder that holds it
    return path == "/root" || (path.starts_with("/home/") && path.find('/', 6) == path.npos);
}

}  // namespace

Result<PythonEnvironment> parse_python_environment(std::string_view answer) {
    PythonEnvironment environment;
    std::vector<std::string> paths, homes;
    while (!answer.empty()) {
        std::string_view line = answer.substr(0, answer.find('\n'));
        answer.remove_prefix(std::min(line.size() + 1, answer.size()));
        constexpr std::string_view mark = "kcoral:";
        if (!line.starts_with(mark)) continue;
        line.remove_prefix(mark.size());
        std::size_t space = line.find(' ');
        if (space == line.npos) continue;
        std::string_view word = line.substr(0, space);
        std::string path(line.substr(space + 1));
        if (word == "executable") environment.executable = path;
        if (word == "user_base") environment.user_base = path;
        if (word == "path") paths.push_back(path);
        if (word == "home" && path != "/") homes.push_back(path);
    }
    if (environment.executable.empty())
        return failure(ErrorCode::unavailable, "it did not say where its executable is");
    std::erase_if(paths,
                  [&](const std::string& path) { return path == "/" || is_home(path, homes); });
    environment.paths = without_covered(paths);
    return environment;
}

Result<PythonEnvironment> find_python_environment(const std::string& python) {
    TRY_ASSIGN(Fd answer, make_memory_file("python-environment"));
    TRY_ASSIGN(Fd complaint, make_memory_file("python-complaint"));
    SpawnOptions options;
    options.arguments = {python, "-c", question};
    for (char** variable = environ; *variable; ++variable)
        options.environment.push_back(*variable);
    options.descriptors = {{&answer, 1}, {&complaint, 2}};
    options.die_with_parent = true;
    auto process = Process::spawn(options);
    if (!process) return Failure(std::move(process).error().within("looking for Python"));
    WaitStatus status = process->wait();
    TRY_ASSIGN(std::string said, read_file(answer));
    if (!status.success()) {
        TRY_ASSIGN(std::string why, read_file(complaint));
        return failure(ErrorCode::unavailable,
                       fmt::format("{} {}: {}", python, status.describe(), why));
    }
    auto environment = parse_python_environment(said);
    if (!environment) return Failure(std::move(environment).error().within(python));
    return environment;
}

}  // namespace kcoral::sandbox
