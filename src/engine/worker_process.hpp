// WorkerProcess: one worker as the server holds it - its channel, output, process tree, workspace.
//
// Made before the zygote is asked for the fork; `forked` brings the pidfd of its init. Everything
// the worker says or does comes out as events; a worker that breaks the rules of the channel, or
// closes it and lives on, is killed. Used on the loop thread only.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "engine/output_capture.hpp"
#include "engine/readable.hpp"
#include "worker/messages.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace kcoral::engine {

// How a worker ended: for results, logs and metrics.
struct WorkerEnd {
    std::optional<WaitStatus> status;  // of the worker itself, when its init lived to tell
    std::string description;           // "the worker was killed by signal 11 (SIGSEGV)"
};

class WorkerProcess : public std::enable_shared_from_this<WorkerProcess> {
  public:
    struct Events {
        std::function<void(worker::FromWorker)> message;
        std::function<void(WorkerEnd)> gone;  // called once, last; its messages came before
    };

    // Makes the descriptors and puts their far ends into `request`, which the zygote is to be sent.
    // `workspace` is the worker's folder as we see it.
    static Result<std::shared_ptr<WorkerProcess>> prepare(boost::asio::io_context& loop,
                                                          std::string name, std::string workspace,
                                                          worker::Fork& request, Events events);

    void forked(int pid, Fd pidfd);
    // It could not be forked, or the zygote died before it said so.
    void fork_failed(const std::string& why);

    Result<void> execute(const worker::Execute& program);

    // Ends the whole tree: SIGTERM first where there is a grace, SIGKILL at its end.
    void terminate(std::chrono::steady_clock::duration grace);

    OutputCapture& standard_output() { return output_; }
    OutputCapture& standard_error() { return error_; }
    const std::string& name() const { return name_; }
    const std::string& workspace() const { return workspace_; }
    int pid() const { return pid_; }

  private:
    WorkerProcess(boost::asio::io_context& loop, std::string name, std::string workspace,
                  Events events, worker::Channel channel, Fd exit_pipe, OutputCapture output,
                  OutputCapture error);
    void watch();
    void read_messages();
    void break_off(std::string why);
    void ended();
    void send_signal(int number);
    void finish(WorkerEnd end);

    boost::asio::io_context& loop_;
    std::string name_;
    std::string workspace_;
    Events events_;
    worker::Channel channel_;
    Fd exit_pipe_;
    OutputCapture output_;
    OutputCapture error_;
    Readable channel_readable_;
    Fd pidfd_;
    int pid_ = 0;
    std::unique_ptr<Readable> tree_ended_;
    boost::asio::steady_timer kill_timer_;
    std::optional<std::chrono::steady_clock::duration> pending_termination_;
    std::string broken_;  // why we broke it off, if we did
};

}  // namespace kcoral::engine
