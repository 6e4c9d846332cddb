// The server: an HTTP front end over an engine, from its start to its orderly end.
#pragma once

#include "base/error.hpp"
#include "server/options.hpp"

namespace kcoral::server {

// Serves until SIGINT or SIGTERM, then drains: requests that wait are answered busy, running ones
// finish or time out; a second signal ends at once. Fails when the server cannot start. Blocking;
// `options` have passed check().
Result<void> serve(const ServerOptions& options);

}  // namespace kcoral::server
