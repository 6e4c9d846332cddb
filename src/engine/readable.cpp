// Waiting for a borrowed descriptor by Asio.
#include "engine/readable.hpp"

#include <utility>

namespace kcoral::engine {

struct Readable::Watch : std::enable_shared_from_this<Watch> {
    Watch(boost::asio::io_context& loop, const Fd& borrowed) : descriptor(loop, borrowed.get()) {}
    ~Watch() { descriptor.release(); }

    boost::asio::posix::stream_descriptor descriptor;
    std::function<void()> handler;

    void wait() {
        descriptor.async_wait(boost::asio::posix::descriptor_base::wait_read,
                              [self = shared_from_this()](boost::system::error_code error) {
                                  if (error || !self->handler) return;
                                  auto keep = self->handler;  // it may stop us while it runs
                                  keep();
                                  if (self->handler) self->wait();
                              });
    }
};

Readable::Readable(boost::asio::io_context& loop, const Fd& descriptor)
    : watch_(std::make_shared<Watch>(loop, descriptor)) {}

Readable::~Readable() {
    stop();
}

void Readable::start(std::function<void()> handler) {
    watch_->handler = std::move(handler);
    watch_->wait();
}

void Readable::stop() {
    watch_->handler = nullptr;
    // The descriptor is the caller's and may be closed next: it must leave the poll set now, not
    // when a cancelled wait completes.
    if (watch_->descriptor.is_open()) watch_->descriptor.release();
}

}  // namespace kcoral::engine
