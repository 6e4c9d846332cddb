// Channel: packets of text and file descriptors between the server and its workers.
//
// One end of a SOCK_SEQPACKET pair. A packet's body may be of any size: a long one travels in a
// memory file, and descriptors beyond what one packet carries travel in packets before it, so a
// sender never meets the limits of the socket. The end of the peer shows as an empty receive.
// A channel is used by one thread at a time; it blocks or not as its descriptor does.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::worker {

struct Packet {
    std::string body;
    std::vector<Fd> descriptors;
};

class Channel {
  public:
    Channel() = default;
    explicit Channel(Fd socket) : socket_(std::move(socket)) {}

    const Fd& fd() const { return socket_; }

    // Sends one packet; the descriptors stay the caller's. `closed` when the peer is gone, `busy`
    // when a non-blocking socket has no room.
    Result<void> send(std::string_view body, std::span<const Fd* const> descriptors = {});

    // The next packet; nothing when the peer has closed its end. `busy` when a non-blocking socket
    // has none yet, `protocol` when the peer sent something that is no packet.
    Result<std::optional<Packet>> receive();

  private:
    Fd socket_;
    std::vector<Fd> gathered_;  // descriptors of packets that announced more to come
};

}  // namespace kcoral::worker
