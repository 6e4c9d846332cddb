// send_through_socket: a plain `cat` through a TCP connection of the loopback interface.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace kcoral::bench {

// One thread writes, the other reads and drops, as a server that does nothing with a body would.
// Returns when all has been read.
Result<void> send_through_socket(ByteView data);

}  // namespace kcoral::bench
