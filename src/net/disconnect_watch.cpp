// An epoll set that asks for nothing but ends of connections, inside the loop's own.
#include "net/disconnect_watch.hpp"

#include "base/fd.hpp"
#include "base/log.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace kcoral::net {

struct DisconnectWatch::State : std::enable_shared_from_this<State> {
    State(const boost::asio::any_io_executor& loop, Fd poll_set)
        : poll_set(loop, poll_set.release()) {}

    boost::asio::posix::stream_descriptor poll_set;
    std::unordered_map<int, Registration*> registrations;  // by socket
    bool waiting = false;

    // Waits only while there is something to wait for, so that an idle watch is no work.
    void wait() {
        if (waiting || registrations.empty()) return;
        waiting = true;
        poll_set.async_wait(boost::asio::posix::descriptor_base::wait_read,
                            [self = shared_from_this()](boost::system::error_code error) {
                                self->waiting = false;
                                if (error == boost::asio::error::operation_aborted)
                                    return self->poll_set.is_open() ? self->wait() : void();
                                self->collect();
                                self->wait();
                            });
    }

    void collect() {
        std::array<epoll_event, 64> events;
        int count = ::epoll_wait(poll_set.native_handle(), events.data(), events.size(), 0);
        for (int i = 0; i < count; ++i) {
            // A callback before this one may have ended this registration.
            auto found = registrations.find(events[static_cast<std::size_t>(i)].data.fd);
            if (found != registrations.end()) found->second->fire();
        }
    }
};

DisconnectWatch::Registration::Registration(std::shared_ptr<State> state, int socket,
                                            std::function<void()> callback)
    : state_(std::move(state)), socket_(socket), callback_(std::move(callback)) {
    epoll_event event{};
    event.events = EPOLLRDHUP | EPOLLONESHOT;  // resets are reported unasked
    event.data.fd = socket_;
    if (::epoll_ctl(state_->poll_set.native_handle(), EPOLL_CTL_ADD, socket_, &event) != 0)
        log::warning("the end of a connection cannot be watched: {}",
                     system_error("epoll_ctl", errno).message);
    state_->registrations[socket_] = this;
    state_->wait();
}

DisconnectWatch::Registration::~Registration() {
    if (state_->poll_set.is_open())
        ::epoll_ctl(state_->poll_set.native_handle(), EPOLL_CTL_DEL, socket_, nullptr);
    state_->registrations.erase(socket_);
    if (state_->registrations.empty() && state_->waiting) state_->poll_set.cancel();
}

void DisconnectWatch::Registration::fire() {
    // The callback may end this registration.
    if (auto callback = std::exchange(callback_, nullptr)) callback();
}

Result<DisconnectWatch> DisconnectWatch::create(const boost::asio::any_io_executor& loop) {
    Fd poll_set(::epoll_create1(EPOLL_CLOEXEC));
    if (!poll_set) return errno_failure("making a poll set");
    return DisconnectWatch(std::make_shared<State>(loop, std::move(poll_set)));
}

DisconnectWatch::~DisconnectWatch() {
    if (state_ && state_->poll_set.is_open()) state_->poll_set.close();
}

std::unique_ptr<DisconnectWatch::Registration> DisconnectWatch::add(
    int socket, std::function<void()> callback) {
    return std::make_unique<Registration>(state_, socket, std::move(callback));
}

}  // namespace kcoral::net
