// ClientPool: the connections that an HTTP client keeps between requests, and the responses that
// bring them back.
#pragma once

#include "base/clock.hpp"
#include "net/connection.hpp"
#include "net/head_parser.hpp"
#include "net/http_client.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace kcoral::net {

// Shared by the client and its responses.
class ClientPool {
  public:
    explicit ClientPool(ClientOptions options) : options_(std::move(options)) {}

    const ClientOptions& options() const { return options_; }

    // A connection that looks alive, or null.
    std::unique_ptr<Connection> take();
    // Keeps a connection on which everything was sent and received.
    void put(std::unique_ptr<Connection> connection);

  private:
    struct Idle {
        std::unique_ptr<Connection> connection;
        SteadyTime since;
    };

    const ClientOptions options_;
    std::vector<Idle> idle_;  // the oldest first
};

// An answer whose head has been read. `request_complete`: whether all of the request was sent, so
// that the connection can be used again.
std::unique_ptr<ClientResponse> make_client_response(std::shared_ptr<ClientPool> pool,
                                                     std::unique_ptr<Connection> connection,
                                                     ResponseHead head, bool answers_head_request,
                                                     bool request_complete);

}  // namespace kcoral::net
