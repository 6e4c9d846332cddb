// Replies: what the front end answers, as HTTP. The one place where outcomes become responses.
#pragma once

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "net/request.hpp"
#include "protocol/error_kind.hpp"
#include "protocol/program.hpp"
#include "protocol/response.hpp"

#include <string>

namespace kcoral::server {

// The id of an /execute attempt: the client's X-Request-ID when there is exactly one and it is a
// canonical UUID, else a new one.
std::string choose_request_id(const net::Headers& headers);

// An ERROR document under the status of its kind, or under `status` where HTTP has a better one.
net::Response error_reply(const std::string& request_id, protocol::ErrorKind kind,
                          std::string message, unsigned status = 0);

// Why a request could not be read or was refused before it ran.
net::Response refusal_reply(const std::string& request_id, const Error& error);

net::Response cache_miss_reply(const protocol::CacheMiss& miss);

net::Response outcome_reply(const std::string& request_id, const protocol::Program& program,
                            engine::Outcome outcome);

net::Response json_reply(unsigned status, std::string document);

// The words of net's problems (unknown routes, unreadable requests, failed handlers).
net::Response problem_reply(const net::Problem& problem);

}  // namespace kcoral::server
