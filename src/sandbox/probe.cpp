// What the preflight runs inside bubblewrap.
#include "base/process.hpp"
#include "base/remove_tree.hpp"
#include "sandbox/preflight.hpp"
#include "sandbox/seat.hpp"
#include "sandbox/workspace_layout.hpp"
#include "sandbox/zygote_command.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace kcoral::sandbox {
namespace {

constexpr int complained = 3;  // the exit code of who has said what is wrong

int complain(std::string_view what) {
    fmt::print("{}\n", what);
    std::fflush(stdout);
    return complained;
}

bool can_create(const char* path) {
    return Fd(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) ? true : false;
}

bool is_empty_folder(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && status.st_nlink <= 2;
}

// In the seat: the promises, then Python in this process's place.
int check_promises(const std::string& python) {
    if (!can_create("/work/probe")) return complain("the workspace cannot be written");
    if (!can_create("/tmp/probe")) return complain("/tmp cannot be written");
    if (!can_create("/dev/shm/probe")) return complain("/dev/shm cannot be written");
    if (can_create("/probe") || can_create("/dev/probe"))
        return complain("the sandbox leaves the root folder writable");
    if (::getpid() != 2) return complain("the worker is not alone in its PID namespace");
    if (!is_empty_folder(std::string(zygote_workspaces)))
        return complain("the sandbox leaves other workspaces in sight");
    ::execl(python.c_str(), python.c_str(), "-c", "pass", nullptr);
    return complain(fmt::format("Python cannot be started: {}: {}", python, strerror(errno)));
}

// A workspace for the time of the probe.
class ProbeWorkspace {
  public:
    ProbeWorkspace() : path_(std::string(zygote_workspaces) + "/.probe-XXXXXX") {
        made_ = ::mkdtemp(path_.data()) != nullptr;
    }
    ~ProbeWorkspace() {
        if (made_) [[maybe_unused]]
            auto removed = remove_tree(path_);
    }
    explicit operator bool() const { return made_; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    bool made_;
};

}  // namespace

int run_probe(const std::string& python) {
    auto launcher = SeatLauncher::create(true, std::string(zygote_workspaces));
    if (!launcher) return complain(launcher.error().message);
    ProbeWorkspace workspace;
    if (!workspace) return complain("no folder can be made for workspaces");
    auto exit = make_pipe();
    Fd output(::fcntl(1, F_DUPFD_CLOEXEC, 3));
    if (!exit || !output) return complain("no descriptors are left");
    SeatSpec spec;
    spec.workspace = workspace.path();
    spec.standard_output = &output;
    spec.standard_error = &output;
    spec.exit_pipe = &exit->second;
    auto seat = launcher->launch(spec, [&] { return check_promises(python); });
    if (!seat) return complain(seat.error().message);
    ::waitpid(seat->init_pid, nullptr, 0);
    exit->second.reset();
    int status = 0;
    if (::read(exit->first.get(), &status, sizeof status) != sizeof status)
        return complain("the init of a seat cannot run");
    WaitStatus ended = WaitStatus::from_wait(status);
    if (ended.success() || ended.exit_code() == complained) return ended.exit_code().value();
    return complain(fmt::format("Python cannot be started: {} {}", python, ended.describe()));
}

}  // namespace kcoral::sandbox
