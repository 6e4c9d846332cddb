// Blocking sockets with a limit on patience.
#include "net/testing/raw_client.hpp"

#include "net/socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>

namespace kcoral::net {

bool RawResponse::has_header(std::string_view line) const {
    return head.contains("\r\n" + std::string(line) + "\r\n");
}

RawClient::RawClient(std::uint16_t port, const std::string& address) {
    Peer to{boost::asio::ip::make_address(address), port};
    auto socket = start_connecting(to);
    if (!socket) throw std::runtime_error(socket.error().message);
    socket_ = std::move(*socket);
    wait_for(POLLOUT);
    if (auto outcome = connect_outcome(socket_.get(), to); !outcome)
        throw std::runtime_error(outcome.error().message);
}

void RawClient::wait_for(short event) {
    pollfd entry{socket_.get(), event, 0};
    if (::poll(&entry, 1, 10'000) == 0) throw std::runtime_error("the server is silent");
}

bool RawClient::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count > 0)
            bytes.remove_prefix(static_cast<std::size_t>(count));
        else if (count < 0 && errno == EAGAIN)
            wait_for(POLLOUT);
        else
            return false;
    }
    return true;
}

void RawClient::send(std::string_view bytes) {
    if (!try_send(bytes)) throw std::runtime_error("the server closed while we were sending");
}

void RawClient::finish() {
    ::shutdown(socket_.get(), SHUT_WR);
}

void RawClient::reset() {
    linger now{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_.reset();
}

bool RawClient::receive() {
    char buffer[64 << 10];
    while (true) {
        ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
        if (count > 0) received_.append(buffer, static_cast<std::size_t>(count));
        if (count >= 0) return count > 0;
        if (errno != EAGAIN) return false;
        wait_for(POLLIN);
    }
}

RawResponse RawClient::read_response(bool to_head) {
    auto more = [this] {
        if (!receive()) throw std::runtime_error("the connection ended within an answer");
    };
    auto take = [this](std::size_t count) {
        std::string taken = received_.substr(0, count);
        received_.erase(0, count);
        return taken;
    };
    RawResponse response;
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos)
        more();
    response.head = take(end + 4);
    response.status = static_cast<unsigned>(std::stoul(response.head.substr(9, 3)));
    if (to_head || response.status < 200) return response;

    if (response.has_header("Transfer-Encoding: chunked")) {
        while (true) {
            std::size_t line;
            while ((line = received_.find("\r\n")) == std::string::npos)
                more();
            std::size_t size = std::stoul(take(line + 2), nullptr, 16);
            while (received_.size() < size + 2)
                more();
            response.body += take(size);
            if (take(2) != "\r\n") throw std::runtime_error("a chunk has no end");
            if (size == 0) return response;
        }
    }
    auto field = response.head.find("Content-Length: ");
    if (field == std::string::npos) throw std::runtime_error("no length: " + response.head);
    std::size_t length = std::stoul(response.head.substr(field + 16));
    while (received_.size() < length)
        more();
    response.body = take(length);
    return response;
}

std::string RawClient::read_to_end() {
    while (receive()) {
    }
    return std::exchange(received_, {});
}

std::string make_head(std::string_view method, std::string_view target,
                      const std::vector<std::string>& headers) {
    std::string head(method);
    head.append(" ").append(target).append(" HTTP/1.1\r\nHost: test\r\n");
    for (const std::string& header : headers)
        head += header + "\r\n";
    return head + "\r\n";
}

}  // namespace kcoral::net
