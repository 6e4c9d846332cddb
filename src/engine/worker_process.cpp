// A worker's descriptors, messages and end.
#include "engine/worker_process.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace kcoral::engine {
namespace {

// A worker that closed its channel is about to end by itself, as a rule; its end says more.
constexpr std::chrono::seconds patience_after_hangup{1};

}  // namespace

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::prepare(boost::asio::io_context& loop,
                                                              std::string name,
                                                              std::string workspace,
                                                              worker::Fork& request,
                                                              Events events) {
    TRY_ASSIGN(FdPair channel, make_packet_sockets());
    TRY_ASSIGN(FdPair output, make_pipe());
    TRY_ASSIGN(FdPair error, make_pipe());
    TRY_ASSIGN(FdPair exit, make_pipe());
    TRY(set_nonblocking(channel.first));
    TRY(set_nonblocking(exit.first));
    TRY_ASSIGN(OutputCapture output_capture, OutputCapture::create(loop, std::move(output.first)));
    TRY_ASSIGN(OutputCapture error_capture, OutputCapture::create(loop, std::move(error.first)));
    request.worker = name;
    request.channel = std::move(channel.second);
    request.stdout_pipe = std::move(output.second);
    request.stderr_pipe = std::move(error.second);
    request.exit_pipe = std::move(exit.second);
    std::shared_ptr<WorkerProcess> worker(
        new WorkerProcess(loop, std::move(name), std::move(workspace), std::move(events),
                          worker::Channel(std::move(channel.first)), std::move(exit.first),
                          std::move(output_capture), std::move(error_capture)));
    worker->watch();
    return worker;
}

WorkerProcess::WorkerProcess(boost::asio::io_context& loop, std::string name, std::string workspace,
                             Events events, worker::Channel channel, Fd exit_pipe,
                             OutputCapture output, OutputCapture error)
    : loop_(loop),
      name_(std::move(name)),
      workspace_(std::move(workspace)),
      events_(std::move(events)),
      channel_(std::move(channel)),
      exit_pipe_(std::move(exit_pipe)),
      output_(std::move(output)),
      error_(std::move(error)),
      channel_readable_(loop, channel_.fd()),
      kill_timer_(loop) {}

void WorkerProcess::watch() {
    channel_readable_.start([self = weak_from_this()] {
        if (auto worker = self.lock()) worker->read_messages();
    });
}

void WorkerProcess::forked(int pid, Fd pidfd) {
    pid_ = pid;
    pidfd_ = std::move(pidfd);
    tree_ended_ = std::make_unique<Readable>(loop_, pidfd_);
    tree_ended_->start([self = weak_from_this()] {
        if (auto worker = self.lock()) worker->ended();
    });
    if (pending_termination_) terminate(*pending_termination_);
}

void WorkerProcess::fork_failed(const std::string& why) {
    if (!pidfd_) finish(WorkerEnd{{}, "the worker could not be started: " + why});
}

Result<void> WorkerProcess::execute(const worker::Execute& program) {
    return worker::send(channel_, program);
}

void WorkerProcess::read_messages() {
    auto keep = shared_from_this();
    while (events_.gone) {
        auto packet = channel_.receive();
        if (!packet && packet.error().code == ErrorCode::busy) return;
        if (!packet) return break_off(packet.error().message);
        if (!*packet) {
            channel_readable_.stop();
            broken_ = "it closed its channel to the server";
            return terminate(patience_after_hangup);
        }
        auto message = worker::decode_from_worker(std::move(**packet));
        if (!message) return break_off(message.error().message);
        events_.message(std::move(*message));
    }
}

void WorkerProcess::break_off(std::string why) {
    broken_ = "it broke the rules of its channel: " + why;
    channel_readable_.stop();
    terminate({});
}

void WorkerProcess::terminate(std::chrono::steady_clock::duration grace) {
    if (!events_.gone) return;
    if (!pidfd_) {
        pending_termination_ = grace;
        return;
    }
    if (grace <= std::chrono::steady_clock::duration::zero()) return send_signal(SIGKILL);
    send_signal(SIGTERM);
    kill_timer_.expires_after(grace);
    kill_timer_.async_wait([self = weak_from_this()](boost::system::error_code error) {
        auto worker = self.lock();
        if (!error && worker) worker->send_signal(SIGKILL);
    });
}

void WorkerProcess::send_signal(int number) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

// The tree is gone. What it said before is still in the channel and in the pipes.
void WorkerProcess::ended() {
    auto keep = shared_from_this();
    tree_ended_->stop();
    read_messages();
    WorkerEnd end;
    int word = 0;
    if (::read(exit_pipe_.get(), &word, sizeof word) == sizeof word) {
        end.status = WaitStatus::from_wait(word);
        end.description = "the worker process " + end.status->describe();
    } else {
        end.description = "the worker process was killed from outside";
    }
    if (!broken_.empty()) end.description += " (" + broken_ + ")";
    finish(std::move(end));
}

void WorkerProcess::finish(WorkerEnd end) {
    channel_readable_.stop();
    kill_timer_.cancel();
    events_.message = nullptr;
    if (auto gone = std::exchange(events_.gone, nullptr)) gone(std::move(end));
}

}  // namespace kcoral::engine
