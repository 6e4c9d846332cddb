// POST /execute: from an HTTP request to a program's outcome.
#pragma once

#include "net/request.hpp"
#include "server/state.hpp"

#include <boost/asio/awaitable.hpp>

namespace kcoral::server {

boost::asio::awaitable<net::Response> execute(State& state, net::Request& request);

}  // namespace kcoral::server
