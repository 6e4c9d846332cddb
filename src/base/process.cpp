// Starting, signalling and reaping child programs.
#include "base/process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kcoral {

WaitStatus WaitStatus::from_wait(int status) {
    return WIFSIGNALED(status) ? signaled(WTERMSIG(status)) : exited(WEXITSTATUS(status));
}

std::optional<int> WaitStatus::exit_code() const {
    return signal_ ? std::nullopt : std::optional(code_);
}

std::optional<int> WaitStatus::signal() const {
    return signal_ ? std::optional(signal_) : std::nullopt;
}

std::string WaitStatus::describe() const {
    if (!signal_) return fmt::format("exited with code {}", code_);
    const char* name = ::sigabbrev_np(signal_);
    return name ? fmt::format("was killed by signal {} (SIG{})", signal_, name)
                : fmt::format("was killed by signal {}", signal_);
}

namespace {

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (const std::string& string : strings)
        pointers.push_back(const_cast<char*>(string.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

// Runs in the child between fork and exec: only async-signal-safe calls, no allocation.
struct ChildSetup {
    const SpawnOptions& options;
    char* const* arguments;
    char* const* environment;
    int highest_target;  // no descriptor of ours below this is safe from being overwritten
    int* moved;          // scratch, one entry a descriptor
    int error_pipe;

    [[noreturn]] void fail() const {
        int error_number = errno;
        [[maybe_unused]] auto ignored = ::write(error_pipe, &error_number, sizeof error_number);
        ::_exit(127);
    }

    [[noreturn]] void run() {
        // What exec inherits must not depend on what the parent blocks or ignores.
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::signal(SIGPIPE, SIG_DFL);
        if (options.die_with_parent && ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
        if (options.new_session) ::setsid();
        if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) fail();

        // First all out of the way of every target number, then each into its place.
        error_pipe = ::fcntl(error_pipe, F_DUPFD_CLOEXEC, highest_target + 1);
        if (error_pipe < 0) ::_exit(127);
        for (std::size_t i = 0; i < options.descriptors.size(); ++i) {
            moved[i] =
                ::fcntl(options.descriptors[i].first->get(), F_DUPFD_CLOEXEC, highest_target + 1);
            if (moved[i] < 0) fail();
        }
        for (std::size_t i = 0; i < options.descriptors.size(); ++i)
            if (::dup2(moved[i], options.descriptors[i].second) < 0) fail();
        // Everything else is close-on-exec by our own habit; libraries may have other habits.
        for (int fd = 3; fd <= highest_target; ++fd) {
            bool wanted = false;
            for (const auto& [source, target] : options.descriptors)
                wanted |= target == fd;
            if (!wanted) ::close(fd);
        }
        ::syscall(SYS_close_range, static_cast<unsigned>(highest_target + 1), ~0U,
                  4 /* CLOSE_RANGE_CLOEXEC */);
        ::execvpe(arguments[0], arguments, environment);
        fail();
    }
};

}  // namespace

Result<Process> Process::spawn(const SpawnOptions& options) {
    TRY_ASSIGN(FdPair errors, make_pipe());
    auto arguments = c_strings(options.arguments);
    auto environment = c_strings(options.environment);
    std::vector<int> moved(options.descriptors.size());
    int highest = 2;
    for (const auto& [source, target] : options.descriptors)
        highest = std::max(highest, target);

    pid_t pid = ::fork();
    if (pid < 0) return errno_failure("forking");
    if (pid == 0) {
        ChildSetup setup{options, arguments.data(), environment.data(),
                         highest, moved.data(),     errors.second.get()};
        setup.run();
    }
    Process process;
    process.pid_ = pid;
    process.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    errors.second.reset();
    int error_number = 0;
    ssize_t count;
    do {
        count = ::read(errors.first.get(), &error_number, sizeof error_number);
    } while (count < 0 && errno == EINTR);
    if (count == sizeof error_number)
        return Failure(system_error("starting " + options.arguments[0], error_number));
    if (!process.pidfd_) return errno_failure("opening a pidfd");
    return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Process& Process::operator=(Process&& other) noexcept {
    if (this != &other) {
        end();
        pid_ = std::exchange(other.pid_, -1);
        pidfd_ = std::move(other.pidfd_);
    }
    return *this;
}

Process::~Process() {
    end();
}

void Process::end() {
    if (!running()) return;
    signal(SIGKILL);
    wait();
}

void Process::signal(int number) {
    if (running()) ::kill(pid_, number);
}

std::optional<WaitStatus> Process::try_wait() {
    if (!running()) return std::nullopt;
    int status = 0;
    pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped != pid_) return std::nullopt;
    pid_ = -1;
    return WaitStatus::from_wait(status);
}

WaitStatus Process::wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WaitStatus::from_wait(status);
}

}  // namespace kcoral
