// Framing over SOCK_SEQPACKET: one flag byte, then the body or nothing; descriptors by SCM_RIGHTS.
#include "worker/channel.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kcoral::worker {
namespace {

// A body up to this size travels inline; it fits the default socket buffer many times over.
constexpr std::size_t inline_limit = 32 << 10;
// The kernel's limit is 253 descriptors a packet.
constexpr std::size_t descriptors_per_packet = 250;
// The most descriptors one message may bring: bounds what a broken peer can make us hold.
constexpr std::size_t descriptor_limit = 64 << 10;

enum Flag : unsigned char {
    body_in_first_descriptor = 1,
    more_descriptors_follow = 2,
};

union ControlBuffer {
    cmsghdr align;
    char bytes[CMSG_SPACE(descriptors_per_packet * sizeof(int))];
};

Result<void> send_packet(const Fd& socket, unsigned char flags, std::string_view body,
                         std::span<const int> descriptors) {
    std::array<iovec, 2> pieces{iovec{&flags, 1},
                                iovec{const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    ControlBuffer control;
    if (!descriptors.empty()) {
        std::size_t size = descriptors.size() * sizeof(int);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(header), descriptors.data(), size);
    }
    while (::sendmsg(socket.get(), &message, MSG_NOSIGNAL) < 0)
        if (errno != EINTR) return errno_failure("sending on a worker channel");
    return {};
}

struct RawPacket {
    unsigned char flags;
    std::string body;
};

// Receives one packet and appends its descriptors to `descriptors`; nothing at the peer's end.
Result<std::optional<RawPacket>> receive_packet(const Fd& socket, std::vector<Fd>& descriptors) {
    unsigned char flags = 0;
    std::array<char, inline_limit> body;
    std::array<iovec, 2> pieces{iovec{&flags, 1}, iovec{body.data(), body.size()}};
    ControlBuffer control;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    ssize_t size;
    do {
        size = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        // A peer that was killed with packets of ours unread resets the connection: that is its
        // end.
        if (errno == ECONNRESET) return std::optional<RawPacket>();
        return errno_failure("receiving on a worker channel");
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor;
            std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            descriptors.emplace_back(descriptor);
        }
    }
    if (size == 0) return std::optional<RawPacket>();
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return failure(ErrorCode::protocol, "a packet on a worker channel was cut short");
    return RawPacket{flags, std::string(body.data(), static_cast<std::size_t>(size) - 1)};
}

// Sealing first: a peer must not be able to change or cut the file under our read.
Result<std::string> take_body(std::vector<Fd>& descriptors) {
    if (descriptors.empty())
        return failure(ErrorCode::protocol, "a packet promised a body and brought no descriptor");
    Fd file = std::move(descriptors.front());
    descriptors.erase(descriptors.begin());
    TRY(seal_memory_file(file));
    return read_file(file);
}

}  // namespace

Result<void> Channel::send(std::string_view body, std::span<const Fd* const> descriptors) {
    Fd body_file;
    std::vector<int> numbers;
    if (body.size() > inline_limit) {
        TRY_ASSIGN(body_file, make_memory_file("kcoral-message"));
        TRY(write_all(body_file, as_bytes(body)));
        numbers.push_back(body_file.get());
    }
    for (const Fd* descriptor : descriptors)
        numbers.push_back(descriptor->get());
    if (numbers.size() > descriptor_limit)
        return failure(ErrorCode::too_large,
                       fmt::format("a message carries at most {} descriptors", descriptor_limit));

    std::span<const int> rest(numbers);
    while (rest.size() > descriptors_per_packet) {
        TRY(send_packet(socket_, more_descriptors_follow, {}, rest.first(descriptors_per_packet)));
        rest = rest.subspan(descriptors_per_packet);
    }
    if (body_file) return send_packet(socket_, body_in_first_descriptor, {}, rest);
    return send_packet(socket_, 0, body, rest);
}

Result<std::optional<Packet>> Channel::receive() {
    while (true) {
        TRY_ASSIGN(auto raw, receive_packet(socket_, gathered_));
        if (!raw) return std::optional<Packet>();
        if (gathered_.size() > descriptor_limit)
            return failure(ErrorCode::protocol, "a worker channel brought too many descriptors");
        if (raw->flags & more_descriptors_follow) continue;
        Packet packet{std::move(raw->body), std::exchange(gathered_, {})};
        if (raw->flags & body_in_first_descriptor) {
            TRY_ASSIGN(packet.body, take_body(packet.descriptors));
        }
        return packet;
    }
}

}  // namespace kcoral::worker
