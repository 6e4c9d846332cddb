// TCP sockets by the plain system calls: Asio's own are neither close-on-exec nor non-blocking from
// birth.
#include "net/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace kcoral::net {

namespace {

namespace ip = boost::asio::ip;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = sizeof(sockaddr_storage);

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

SocketAddress to_socket_address(const Peer& peer) {
    SocketAddress result;
    if (peer.address.is_v4()) {
        auto* address = reinterpret_cast<sockaddr_in*>(&result.storage);
        address->sin_family = AF_INET;
        address->sin_port = htons(peer.port);
        auto bytes = peer.address.to_v4().to_bytes();
        std::memcpy(&address->sin_addr, bytes.data(), bytes.size());
        result.size = sizeof(sockaddr_in);
    } else {
        auto* address = reinterpret_cast<sockaddr_in6*>(&result.storage);
        address->sin6_family = AF_INET6;
        address->sin6_port = htons(peer.port);
        auto v6 = peer.address.to_v6();
        auto bytes = v6.to_bytes();
        std::memcpy(&address->sin6_addr, bytes.data(), bytes.size());
        address->sin6_scope_id = static_cast<std::uint32_t>(v6.scope_id());
        result.size = sizeof(sockaddr_in6);
    }
    return result;
}

Peer to_peer(const SocketAddress& from) {
    if (from.family() == AF_INET) {
        auto* address = reinterpret_cast<const sockaddr_in*>(&from.storage);
        return {ip::address_v4(ntohl(address->sin_addr.s_addr)), ntohs(address->sin_port)};
    }
    auto* address = reinterpret_cast<const sockaddr_in6*>(&from.storage);
    ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &address->sin6_addr, bytes.size());
    return {ip::address_v6(bytes, address->sin6_scope_id), ntohs(address->sin6_port)};
}

void set_flag(int socket, int level, int option, int value = 1) {
    ::setsockopt(socket, level, option, &value, sizeof value);
}

Result<Fd> make_socket(int family) {
    Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return errno_failure("making a socket");
    return socket;
}

Result<Peer> look_up(const std::string& host, std::uint16_t port) {
    std::string name = host;
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    boost::system::error_code error;
    if (auto address = ip::make_address(name, error); !error) return Peer{address, port};

    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &found); code != 0)
        return failure(ErrorCode::not_found,
                       "the host \"" + host + "\" has no address: " + ::gai_strerror(code));
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
    const addrinfo* chosen = found;
    for (const addrinfo* entry = found; entry; entry = entry->ai_next)
        if (entry->ai_family == AF_INET) {
            chosen = entry;
            break;
        }
    SocketAddress address;
    std::memcpy(&address.storage, chosen->ai_addr, chosen->ai_addrlen);
    Peer peer = to_peer(address);
    peer.port = port;
    return peer;
}

}  // namespace

Result<Fd> listen_on(const std::string& host, std::uint16_t port, int backlog) {
    TRY_ASSIGN(Peer where, look_up(host, port));
    SocketAddress address = to_socket_address(where);
    TRY_ASSIGN(Fd socket, make_socket(address.family()));
    set_flag(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    if (where.address.is_v6()) set_flag(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (::bind(socket.get(), address.get(), address.size) != 0 ||
        ::listen(socket.get(), backlog) != 0)
        return errno_failure("listening on " + where.to_string());
    return socket;
}

Result<Peer> local_address(const Fd& socket) {
    SocketAddress address;
    if (::getsockname(socket.get(), address.get(), &address.size) != 0)
        return errno_failure("asking for a socket's address");
    return to_peer(address);
}

Result<std::optional<Accepted>> accept_from(int listener) {
    while (true) {
        SocketAddress address;
        Fd socket(::accept4(listener, address.get(), &address.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            set_flag(socket.get(), IPPROTO_TCP, TCP_NODELAY);
            Peer peer = to_peer(address);
            return Accepted{std::move(socket), peer};
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
        // The client was gone before we came to it: the next one, please.
        if (errno != EINTR && errno != ECONNABORTED) return errno_failure("accepting a connection");
    }
}

Result<Fd> start_connecting(const Peer& to) {
    SocketAddress address = to_socket_address(to);
    TRY_ASSIGN(Fd socket, make_socket(address.family()));
    set_flag(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    if (::connect(socket.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)
        return errno_failure("connecting to " + to.to_string());
    return socket;
}

Result<void> connect_outcome(int socket, const Peer& to) {
    int error_number = 0;
    socklen_t size = sizeof error_number;
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) error_number = errno;
    if (error_number != 0)
        return Failure(system_error("connecting to " + to.to_string(), error_number));
    return {};
}

void ignore_broken_pipes() {
    struct sigaction current;
    // A handler that the program set itself stays.
    if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL)
        ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace kcoral::net
