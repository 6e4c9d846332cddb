// Accepting connections and playing scripts on them.
#include "net/testing/scripted_server.hpp"

#include "net/socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>

namespace kcoral::net {

bool ScriptedConnection::receive() {
    char buffer[4096];
    while (true) {
        pollfd entry{socket_.get(), POLLIN, 0};
        if (::poll(&entry, 1, 10'000) == 0) return false;
        ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
        if (count < 0 && errno == EAGAIN) continue;
        if (count <= 0) return false;
        received_.append(buffer, static_cast<std::size_t>(count));
        return true;
    }
}

std::string ScriptedConnection::read_head() {
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos)
        if (!receive()) return {};
    std::string head = received_.substr(0, end + 4);
    received_.erase(0, end + 4);
    return head;
}

void ScriptedConnection::send(std::string_view bytes) {
    ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void ScriptedConnection::wait_for_end() {
    while (receive())
        received_.clear();
}

ScriptedServer::ScriptedServer(std::function<void(ScriptedConnection&, int)> script) {
    auto listener = listen_on("127.0.0.1", 0, 16);
    auto pipe = make_pipe();
    if (!listener || !pipe) throw std::runtime_error("no socket for a scripted server");
    listener_ = std::move(*listener);
    stop_ = std::move(pipe->first);
    stop_other_end_ = std::move(pipe->second);
    port_ = local_address(listener_)->port;
    thread_ = std::thread([this, script = std::move(script)] {
        for (int number = 0;;) {
            pollfd entries[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
            ::poll(entries, 2, -1);
            if (entries[1].revents) return;
            auto accepted = accept_from(listener_.get());
            if (!accepted || !*accepted) continue;
            ScriptedConnection connection(std::move((*accepted)->socket));
            script(connection, number++);
        }
    });
}

ScriptedServer::~ScriptedServer() {
    stop_other_end_.reset();
    thread_.join();
}

}  // namespace kcoral::net
