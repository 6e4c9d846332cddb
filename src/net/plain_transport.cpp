// Bytes straight through a TCP socket.
#include "net/transport.hpp"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace kcoral::net {

namespace {

class PlainTransport final : public Transport {
  public:
    explicit PlainTransport(int socket) : socket_(socket) {}

    Result<Step> handshake() override { return Step{Step::Kind::done}; }

    Result<Step> read(std::span<std::byte> room) override {
        ssize_t count = retry([&] { return ::recv(socket_, room.data(), room.size(), 0); });
        if (count == 0) return Step{Step::Kind::end};
        return outcome(count, Step::Kind::want_read, "receiving");
    }

    Result<Step> write(std::span<const iovec> parts, More more) override {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts.data());
        message.msg_iovlen = parts.size();
        int flags = MSG_NOSIGNAL | (more == More::yes ? MSG_MORE : 0);
        ssize_t count = retry([&] { return ::sendmsg(socket_, &message, flags); });
        return outcome(count, Step::Kind::want_write, "sending");
    }

    Result<Step> send_file(int file, std::uint64_t offset, std::uint64_t length) override {
        // One call at most this much, so that a fast reader does not hold the loop.
        constexpr std::uint64_t most = 4 << 20;
        ssize_t count = retry([&] {
            off_t position = static_cast<off_t>(offset);
            return ::sendfile(socket_, file, &position, std::min(length, most));
        });
        if (count == 0) return failure(ErrorCode::io, "a file became shorter while it was sent");
        return outcome(count, Step::Kind::want_write, "sending a file");
    }

    void finish() override { ::shutdown(socket_, SHUT_WR); }

    bool holds_input() const override { return false; }

  private:
    template <typename Call>
    static ssize_t retry(Call call) {
        ssize_t count;
        do
            count = call();
        while (count < 0 && errno == EINTR);
        return count;
    }

    static Result<Step> outcome(ssize_t count, Step::Kind blocked, const char* what) {
        if (count >= 0) return Step{Step::Kind::done, static_cast<std::size_t>(count)};
        if (errno == EAGAIN || errno == EWOULDBLOCK) return Step{blocked};
        return errno_failure(what);
    }

    int socket_;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(int socket) {
    return std::make_unique<PlainTransport>(socket);
}

}  // namespace kcoral::net
