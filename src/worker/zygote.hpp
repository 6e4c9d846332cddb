// The zygote's loop: forks a worker at each Fork that the server sends, until the channel ends.
//
// Single-threaded, holds the GIL throughout, runs no user code. Dead inits are reaped as they end.
#pragma once

#include "base/error.hpp"
#include "sandbox/seat.hpp"
#include "worker/channel.hpp"
#include "worker/messages.hpp"

namespace kcoral::worker {

struct ZygoteOptions {
    bool sandboxed = false;  // it runs inside the sandbox's bubblewrap
    std::string workspaces;  // the folder that holds every workspace
    sandbox::SeatLimits limits;
};

// Sends `ready`, completed with how seats are isolated, then serves. Returns when the server has
// closed its end; fails when no seat can be launched here, or the channel broke. In a forked worker
// it does not return.
Result<void> serve_zygote(Channel channel, const ZygoteOptions& options, ZygoteReady ready);

}  // namespace kcoral::worker
