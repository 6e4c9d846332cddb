// ScriptedServer: plays the server's side of connections by a script, for tests of the client.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace kcoral::net {

// The server's end of one connection; blocking, and it closes at the end of its script.
class ScriptedConnection {
  public:
    explicit ScriptedConnection(Fd socket) : socket_(std::move(socket)) {}

    // The next head; empty when the client has closed.
    std::string read_head();
    void send(std::string_view bytes);
    void close() { socket_.reset(); }
    // Blocks until the client has closed.
    void wait_for_end();

  private:
    bool receive();

    Fd socket_;
    std::string received_;
};

class ScriptedServer {
  public:
    // Plays `script` for each connection, one after the other, with its number from 0.
    explicit ScriptedServer(std::function<void(ScriptedConnection&, int)> script);
    ~ScriptedServer();

    std::uint16_t port() const { return port_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  private:
    Fd listener_;
    Fd stop_;  // readable once its other end is closed
    Fd stop_other_end_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace kcoral::net
