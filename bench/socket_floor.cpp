// A writer and a reader with blocking system calls.
#include "socket_floor.hpp"

#include "base/fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace kcoral::bench {
namespace {

constexpr std::size_t read_size = 256 << 10;  // as the server reads bodies

Result<FdPair> connect_over_loopback() {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (!listener || !client || ::bind(listener.get(), generic, size) != 0 ||
        ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), generic, &size) != 0 ||
        ::connect(client.get(), generic, size) != 0)
        return errno_failure("connecting over the loopback interface");
    Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!server) return errno_failure("accepting a connection");
    return FdPair{std::move(client), std::move(server)};
}

}  // namespace

Result<void> send_through_socket(ByteView data) {
    TRY_ASSIGN(FdPair ends, connect_over_loopback());
    std::jthread writer([&] {
        [[maybe_unused]] auto written = write_all(ends.first, data);
        ends.first.reset();
    });
    std::vector<std::byte> buffer(read_size);
    std::size_t received = 0;
    for (ssize_t count; (count = ::read(ends.second.get(), buffer.data(), read_size)) > 0;)
        received += static_cast<std::size_t>(count);
    if (received != data.size()) return failure(ErrorCode::closed, "the connection broke");
    return {};
}

}  // namespace kcoral::bench
