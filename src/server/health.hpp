// GET /health and GET /internal/worker-status: who this server is and how busy.
#pragma once

#include "net/request.hpp"
#include "server/state.hpp"

namespace kcoral::server {

net::Response health(const State& state, const net::Request& request);

// For the node's supervisor: loopback peers only, anybody else is told there is no such route.
net::Response worker_status(const State& state, const net::Request& request);

}  // namespace kcoral::server
