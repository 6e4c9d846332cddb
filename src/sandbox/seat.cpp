// Launching a seat: what the zygote does, what init does in the zygote's borrowed memory.
#include "sandbox/seat.hpp"

#include "base/remove_tree.hpp"
#include "sandbox/borrowing_fork.hpp"
#include "sandbox/privileges.hpp"
#include "sandbox/process_scan.hpp"
#include "sandbox/seat_entry.hpp"
#include "sandbox/seat_init_image.hpp"
#include "sandbox/seccomp_filter.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

namespace kcoral::sandbox {

struct SeatLauncher::State {
    Isolation isolation = Isolation::sandbox;
    std::string why_not_better;
    std::string workspaces;
    std::vector<std::string> kept_mounts;
    Fd init_program;
    FdPair alive;  // nobody else holds its writing end for longer than a launch takes
    std::optional<SeccompFilter> filter;
    std::optional<UserRange> users;
    bool own_counts = false;
    bool drop_capabilities = true;
    mutable uid_t users_given = 0;

    void fall_back(Error why) {
        isolation = Isolation::session;
        why_not_better = std::move(why.message);
    }
};

namespace {

constexpr int init_exit_pipe = 3;  // where seat_init.cpp finds it

// One launch, complete before the fork.
struct Launch {
    SeatEntry entry;
    const WorkerMain* worker_main;
    int standard_input;
    int standard_output;
    int standard_error;
    int exit_pipe;
    int init_program;
    std::vector<int> keep;  // sorted
    sigset_t old_mask;
};

Result<Fd> make_init_program() {
    constexpr unsigned executable = 0x10;  // MFD_EXEC of Linux 6.3, whose absence may be refused
    Fd file(::memfd_create("kcoral-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | executable));
    if (!file) file.reset(::memfd_create("kcoral-init", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) return errno_failure("making the file of init");
    TRY(write_all(file, seat_init_image()));
    TRY(seal_memory_file(file));
    // What its user may run but not read is not for its user's other processes to trace or read.
    if (::fchmod(file.get(), 0111) != 0) return errno_failure("closing the file of init");
    return file;
}

[[noreturn]] void give_up(const Launch& launch, const char* what, const char* why) {
    char text[512];
    int size = std::snprintf(text, sizeof text, "the worker's seat cannot be set up: %s%s%s\n",
                             what, *why ? ": " : "", why);
    [[maybe_unused]] auto written =
        ::write(launch.standard_error, text, std::min<std::size_t>(size, sizeof text - 1));
    int status = setup_failed << 8;
    written = ::write(launch.exit_pipe, &status, sizeof status);
    ::_exit(setup_failed);
}

void close_range(unsigned first, unsigned last) {
    if (first <= last) ::syscall(SYS_close_range, first, last, 0);
}

void close_all_but(const std::vector<int>& kept) {
    unsigned next = 3;
    for (int descriptor : kept) {
        if (descriptor < 3) continue;
        close_range(next, static_cast<unsigned>(descriptor) - 1);
        next = static_cast<unsigned>(descriptor) + 1;
    }
    close_range(next, ~0U);
}

// So that the kernel, out of memory, takes a worker and not the server.
void volunteer_for_the_oom_killer() {
    Fd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] auto written = ::write(file.get(), "800", 3);
}

[[noreturn]] void run_worker(const Launch& launch, pid_t init) {
    if (launch.entry.isolation == Isolation::session) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != init) ::_exit(setup_failed);
        ::setpgid(0, 0);  // so that init can signal the group without itself
    }
    ::prctl(PR_SET_DUMPABLE, 1);
    ::dup2(launch.standard_input, 0);
    ::dup2(launch.standard_output, 1);
    ::dup2(launch.standard_error, 2);
    close_all_but(launch.keep);
    volunteer_for_the_oom_killer();
    ::sigprocmask(SIG_SETMASK, &launch.old_mask, nullptr);
    ::_exit((*launch.worker_main)());
}

// Its frame stays behind in the zygote's stack when it leaves by exec, so the address sanitizer
// must not mark it.
__attribute__((no_sanitize("address"))) void run_init(const Launch& launch) {
    if (auto entered = enter_seat(launch.entry); !entered)
        give_up(launch, entered.error().message.c_str(), "");
    pid_t self = ::getpid();
    // Until exec, who traced us would write to the zygote's memory. The zygote undoes it.
    ::prctl(PR_SET_DUMPABLE, 0);
    pid_t worker = ::fork();
    if (worker < 0) give_up(launch, "forking the worker", strerror(errno));
    if (worker == 0) run_worker(launch, self);

    // From here on failures end the worker too: it is ours to kill.
    char number[16];
    std::snprintf(number, sizeof number, "%d", worker);
    char name[] = "kcoral-init", tree[] = "tree", session[] = "session";
    char* arguments[] = {name, number,
                         launch.entry.isolation == Isolation::session ? session : tree, nullptr};
    char* environment[] = {nullptr};
    int program = ::fcntl(launch.init_program, F_DUPFD_CLOEXEC, init_exit_pipe + 1);
    int exit_pipe = ::dup2(launch.exit_pipe, init_exit_pipe);
    if (launch.exit_pipe == init_exit_pipe) exit_pipe = ::fcntl(init_exit_pipe, F_SETFD, 0);
    if (program >= 0 && exit_pipe >= 0) {
        close_range(0, init_exit_pipe - 1);
        close_range(init_exit_pipe + 1, static_cast<unsigned>(program) - 1);
        close_range(static_cast<unsigned>(program) + 1, ~0U);
        ::syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
    }
    int status = setup_failed << 8;
    [[maybe_unused]] auto written = ::write(init_exit_pipe, &status, sizeof status);
    ::kill(worker, SIGKILL);
    ::_exit(setup_failed);
}

class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, &old_);
    }
    ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &old_, nullptr); }
    const sigset_t& old() const { return old_; }

  private:
    sigset_t old_;
};

Result<Fd> open_null() {
    Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return errno_failure("opening /dev/null");
    return null;
}

// A seat whose worker does nothing, waited for.
Result<void> try_a_seat(const SeatLauncher& launcher, const std::string& workspaces) {
    std::string workspace = workspaces + "/.trial-XXXXXX";
    if (!::mkdtemp(workspace.data())) return errno_failure("making a folder in " + workspaces);
    TRY_ASSIGN(FdPair exit, make_pipe());
    TRY_ASSIGN(Fd complaint, make_memory_file("complaint"));
    SeatSpec spec;
    spec.workspace = workspace;
    spec.standard_output = &complaint;
    spec.standard_error = &complaint;
    spec.exit_pipe = &exit.second;
    auto seat = launcher.launch(spec, [] { return 0; });
    if (seat) ::waitpid(seat->init_pid, nullptr, 0);
    exit.second.reset();
    TRY(remove_tree(workspace));
    if (!seat) return Failure(std::move(seat).error());
    int status = 0;
    if (::read(exit.first.get(), &status, sizeof status) != sizeof status)
        return failure(ErrorCode::unavailable, "the init of a seat cannot run");
    if (status == 0) return {};
    TRY_ASSIGN(std::string why, read_file(complaint));
    if (why.empty()) why = fmt::format("the worker of a seat ended with status {}", status);
    while (why.ends_with('\n'))
        why.pop_back();
    return failure(ErrorCode::unavailable, why);
}

}  // namespace

std::string_view to_string(Isolation isolation) {
    switch (isolation) {
        case Isolation::sandbox:
            return "sandbox";
        case Isolation::process_tree:
            return "process_tree";
        case Isolation::session:
            return "session";
    }
    return "unknown";
}

SeatLauncher::SeatLauncher(std::unique_ptr<State> state) : state_(std::move(state)) {}
SeatLauncher::SeatLauncher(SeatLauncher&&) noexcept = default;
SeatLauncher& SeatLauncher::operator=(SeatLauncher&&) noexcept = default;
SeatLauncher::~SeatLauncher() = default;

Isolation SeatLauncher::isolation() const {
    return state_->isolation;
}

const std::string& SeatLauncher::why_not_better() const {
    return state_->why_not_better;
}

Result<SeatLauncher> SeatLauncher::create(bool sandboxed, const std::string& workspaces) {
    auto state = std::make_unique<State>();
    state->isolation = sandboxed ? Isolation::sandbox : Isolation::process_tree;
    state->workspaces = workspaces;
    TRY_ASSIGN(state->init_program, make_init_program());
    TRY_ASSIGN(state->alive, make_pipe());
    bool admin = has_admin_capability();
    if (sandboxed) {
        TRY_ASSIGN(state->filter, SeccompFilter::compile());
        TRY_ASSIGN(std::string uid_map, read_file("/proc/self/uid_map"));
        if (::geteuid() == 0) state->users = seat_users(uid_map);
        state->own_counts = !state->users;
        TRY_ASSIGN(std::string mountinfo, read_file("/proc/self/mountinfo"));
        state->kept_mounts = mounts_below_workspace(mountinfo);
    } else if (!admin) {
        // A user namespace in which nothing but the seats lives lends what making theirs takes.
        auto entered = enter_user_namespace();
        if (!entered) state->fall_back(std::move(entered).error());
        state->own_counts = state->drop_capabilities = entered.has_value();
    } else {
        state->drop_capabilities = false;  // the operator's own, kept without a sandbox
    }

    // Where an init was killed, its orphans come to us.
    if (!sandboxed) ::prctl(PR_SET_CHILD_SUBREAPER, 1);

    SeatLauncher launcher(std::move(state));
    auto tried = try_a_seat(launcher, workspaces);
    if (!tried && launcher.isolation() == Isolation::process_tree) {
        launcher.state_->fall_back(std::move(tried).error());
        tried = try_a_seat(launcher, workspaces);
    }
    if (!tried) return Failure(std::move(tried).error());
    return launcher;
}

Result<Seat> SeatLauncher::launch(const SeatSpec& spec, const WorkerMain& worker_main) const {
    TRY_ASSIGN(Fd null, open_null());
    Launch launch{};
    launch.entry.isolation = state_->isolation;
    launch.entry.workspace = spec.workspace;
    launch.entry.workspaces = state_->workspaces;
    launch.entry.kept_mounts = state_->kept_mounts;
    launch.entry.limits = spec.limits;
    launch.entry.cgroup = spec.cgroup;
    launch.entry.zygote_alive = state_->alive.first.get();
    launch.entry.zygote_alive_writer = state_->alive.second.get();
    launch.entry.own_counts = state_->own_counts;
    launch.entry.drop_capabilities = state_->drop_capabilities;
    if (state_->users)
        launch.entry.user = state_->users->first + state_->users_given++ % state_->users->count;
    if (spec.limits.workspace_size)
        launch.entry.tmpfs_options = fmt::format("size={},mode=0700", spec.limits.workspace_size);
    if (state_->filter) launch.entry.filter = &*state_->filter;
    launch.worker_main = &worker_main;
    launch.standard_input = null.get();
    launch.standard_output = spec.standard_output->get();
    launch.standard_error = spec.standard_error->get();
    launch.exit_pipe = spec.exit_pipe->get();
    launch.init_program = state_->init_program.get();
    for (const Fd* descriptor : spec.keep)
        launch.keep.push_back(descriptor->get());
    std::ranges::sort(launch.keep);

    // init starts with every signal blocked, so that none is lost before it waits for them.
    BlockedSignals blocked;
    launch.old_mask = blocked.old();
    if (spec.hooks.before) spec.hooks.before();
    unsigned long flags = state_->isolation == Isolation::session ? 0 : CLONE_NEWPID;
    pid_t pid = borrowing_fork<const Launch>(flags, run_init, launch);
    int error_number = errno;
    ::prctl(PR_SET_DUMPABLE, 1);
    if (spec.hooks.after_in_parent) spec.hooks.after_in_parent();
    if (pid < 0) return Failure(system_error("forking the seat's init", error_number));
    Seat seat{pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
    if (!seat.pidfd) return errno_failure("opening the pidfd of the seat's init");
    return seat;
}

void SeatLauncher::kill_strays(std::span<const pid_t> live) const {
    if (state_->isolation != Isolation::session) return;
    constexpr int patience = 1000;  // rounds of a millisecond; some driver may hold a process
    for (int round = 0; round < patience; ++round)
        if (kill_descendants("/proc", live.data(), live.size()) == 0) return;
}

}  // namespace kcoral::sandbox
