// Making TCP sockets: listening, accepted and connecting ones, all non-blocking and close-on-exec.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "net/http_message.hpp"

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace kcoral::net {

// Listens on an address or host name (its first IPv4 address, else its first). Blocks while a name
// is looked up. "::" takes IPv4 too.
Result<Fd> listen_on(const std::string& host, std::uint16_t port, int backlog);

Result<Peer> local_address(const Fd& socket);

struct Accepted {
    Fd socket;
    Peer peer;
};

// Nothing when nobody is waiting.
Result<std::optional<Accepted>> accept_from(int listener);

// A socket that is being connected: wait until it can be written to, then ask connect_outcome.
Result<Fd> start_connecting(const Peer& to);
// How connecting went.
Result<void> connect_outcome(int socket, const Peer& to);

// Lets sends to a closed connection fail with an error instead of a signal: sendfile and OpenSSL
// have no flag for that. For the whole process, once.
void ignore_broken_pipes();

}  // namespace kcoral::net
