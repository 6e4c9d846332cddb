// The zygote's process and the server's end of its channel.
#include "engine/zygote.hpp"

#include "engine/readable.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace kcoral::engine {
namespace {

constexpr int channel_number = 3;  // the descriptor the zygote finds its channel under

}  // namespace

struct Zygote::State : std::enable_shared_from_this<State> {
    State(boost::asio::io_context& loop, Process started, worker::Channel near, Events handlers)
        : process(std::move(started)),
          channel(std::move(near)),
          events(std::move(handlers)),
          channel_readable(loop, channel.fd()),
          process_ended(loop, process.pidfd()) {}

    Process process;
    worker::Channel channel;
    Events events;
    Readable channel_readable;
    Readable process_ended;

    void watch() {
        channel_readable.start([self = weak_from_this()] {
            if (auto state = self.lock()) state->read();
        });
        process_ended.start([self = weak_from_this()] {
            if (auto state = self.lock()) state->reap();
        });
    }

    void read() {
        while (events.gone) {
            auto packet = channel.receive();
            if (!packet && packet.error().code == ErrorCode::busy) return;
            // The end of the channel is followed by the end of the process, which says more.
            if (packet && !*packet) return channel_readable.stop();
            if (!packet) return kill(packet.error().message);
            auto message = worker::decode_from_zygote(std::move(**packet));
            if (!message) return kill(message.error().message);
            auto keep = shared_from_this();
            events.message(std::move(*message));
        }
    }

    void reap() {
        auto status = process.try_wait();
        if (!status) return;
        read();  // its last messages come before its end
        end("the zygote " + status->describe());
    }

    void kill(const std::string& why) {
        process.signal(SIGKILL);
        end("the zygote was killed: " + why);
    }

    void end(std::string how) {
        channel_readable.stop();
        process_ended.stop();
        if (auto gone = std::exchange(events.gone, nullptr)) gone(std::move(how));
    }
};

Result<std::unique_ptr<Zygote>> Zygote::start(boost::asio::io_context& loop,
                                              const ZygoteCommand& command, Events events) {
    TRY_ASSIGN(FdPair ends, make_packet_sockets());
    SpawnOptions options;
    options.arguments = command.arguments;
    options.arguments.push_back(std::to_string(channel_number));
    options.environment = command.environment;
    options.new_session = true;
    options.die_with_parent = true;
    Fd standard_error(::dup(2));
    options.descriptors = {{&ends.second, channel_number}, {&standard_error, 1}};
    TRY_ASSIGN(Process process, Process::spawn(options));
    TRY(set_nonblocking(ends.first));
    auto state = std::make_shared<State>(loop, std::move(process),
                                         worker::Channel(std::move(ends.first)), std::move(events));
    state->watch();
    return std::unique_ptr<Zygote>(new Zygote(std::move(state)));
}

Zygote::Zygote(std::shared_ptr<State> state) : state_(std::move(state)) {}

Zygote::~Zygote() {
    state_->events.gone = nullptr;
    state_->end("");
}

Result<void> Zygote::fork(const worker::Fork& request) {
    return worker::send(state_->channel, request);
}

bool Zygote::connected() const {
    pollfd poll{state_->channel.fd().get(), 0, 0};
    return ::poll(&poll, 1, 0) == 0;
}

}  // namespace kcoral::engine
