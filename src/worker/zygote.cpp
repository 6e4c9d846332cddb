// Waiting for requests and for dead children at once, and forking with Python's fork hooks.
#include "worker/zygote.hpp"

#include "worker/worker_main.hpp"

#include <Python.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace kcoral::worker {
namespace {

class Zygote {
  public:
    Zygote(Channel channel, const ZygoteOptions& options, sandbox::SeatLauncher launcher)
        : channel_(std::move(channel)), options_(options), launcher_(std::move(launcher)) {}

    Result<void> serve(const ZygoteReady& ready) {
        TRY(watch_signals());
        TRY(send(channel_, FromZygote(ready)));
        while (true) {
            std::array<pollfd, 2> polled{
                {{channel_.fd().get(), POLLIN, 0}, {child_ended_.get(), POLLIN, 0}}};
            if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR)
                return errno_failure("waiting in the zygote");
            if (polled[1].revents) reap();
            if (!polled[0].revents) continue;
            TRY_ASSIGN(auto packet, channel_.receive());
            if (!packet) return {};
            TRY_ASSIGN(Fork request, decode_fork(std::move(*packet)));
            TRY(fork(std::move(request)));
        }
    }

  private:
    // The server ends us by closing the channel: a terminal's Ctrl+C is its business alone.
    Result<void> watch_signals() {
        ::signal(SIGTERM, SIG_IGN);
        ::sigaction(SIGINT, nullptr, &interrupt_);
        ::signal(SIGINT, SIG_IGN);
        sigset_t signals;
        ::sigemptyset(&signals);
        ::sigaddset(&signals, SIGCHLD);
        ::sigprocmask(SIG_BLOCK, &signals, nullptr);
        child_ended_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!child_ended_) return errno_failure("watching for the ends of children");
        return {};
    }

    void reap() {
        signalfd_siginfo information;
        while (::read(child_ended_.get(), &information, sizeof information) > 0) {
        }
        while (true) {
            pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
            if (ended <= 0) break;
            std::erase(inits_, ended);
        }
        launcher_.kill_strays(inits_);
    }

    Result<void> fork(Fork request) {
        std::string name = request.worker;
        auto seat = launch(request);
        if (!seat) return send(channel_, FromZygote(ForkFailed{name, seat.error().message}));
        inits_.push_back(seat->init_pid);
        return send(channel_, FromZygote(Forked{name, seat->init_pid, std::move(seat->pidfd)}));
    }

    Result<sandbox::Seat> launch(Fork& request) {
        sandbox::SeatSpec spec;
        spec.workspace = request.workspace;
        spec.limits = options_.limits;
        spec.standard_output = &request.stdout_pipe;
        spec.standard_error = &request.stderr_pipe;
        spec.exit_pipe = &request.exit_pipe;
        spec.keep = {&request.channel};
        spec.hooks.before = &PyOS_BeforeFork;
        spec.hooks.after_in_parent = &PyOS_AfterFork_Parent;
        return launcher_.launch(spec, [this, &request] {
            PyOS_AfterFork_Child();
            restore_signals();
            return run_worker(std::move(request.channel), modules_);
        });
    }

    void restore_signals() {
        ::signal(SIGTERM, SIG_DFL);
        ::signal(SIGCHLD, SIG_DFL);
        ::sigaction(SIGINT, &interrupt_, nullptr);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
    }

    Channel channel_;
    const ZygoteOptions& options_;
    sandbox::SeatLauncher launcher_;
    ModuleState modules_ = ModuleState::take();
    Fd child_ended_;
    std::vector<pid_t> inits_;      // of the seats that live
    struct sigaction interrupt_{};  // Python's own, for the workers
};

}  // namespace

Result<void> serve_zygote(Channel channel, const ZygoteOptions& options, ZygoteReady ready) {
    TRY_ASSIGN(auto launcher, sandbox::SeatLauncher::create(options.sandboxed, options.workspaces));
    ready.isolation = sandbox::to_string(launcher.isolation());
    ready.why_not_better = launcher.why_not_better();
    return Zygote(std::move(channel), options, std::move(launcher)).serve(ready);
}

}  // namespace kcoral::worker
