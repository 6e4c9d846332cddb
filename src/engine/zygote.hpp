// Zygote: the process that forks workers, as the server holds it.
//
// Starts the worker environment's Python, which imports what programs will need once and then forks
// a worker at each request of ours. It runs no user code. When it dies its workers die with it.
// Used on the loop thread only.
#pragma once

#include "base/error.hpp"
#include "base/process.hpp"
#include "worker/messages.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kcoral::engine {

struct ZygoteCommand {
    std::vector<std::string> arguments;    // the channel's descriptor number is added as the last
    std::vector<std::string> environment;  // "NAME=value", all of it
};

class Zygote {
  public:
    struct Events {
        std::function<void(worker::FromZygote)> message;
        // The process has ended, or broke the channel's rules and was killed. Called once, last.
        std::function<void(std::string how)> gone;
    };

    static Result<std::unique_ptr<Zygote>> start(boost::asio::io_context& loop,
                                                 const ZygoteCommand& command, Events events);
    // Kills the process, if it still runs, without reporting it.
    ~Zygote();

    Result<void> fork(const worker::Fork& request);
    // Its end of the channel is open. It closes at its death, before its workers die of that.
    bool connected() const;

  private:
    struct State;
    explicit Zygote(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
};

}  // namespace kcoral::engine
