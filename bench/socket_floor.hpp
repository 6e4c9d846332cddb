// best_socket_speed: a plain `cat` through a TCP connection of the loopback interface.
#pragma once

#include "base/error.hpp"

#include <cstdint>

namespace kcoral::bench {

// MB/s (10^6 bytes) of the fastest of the transfers of `bytes` that fit in `seconds`: one thread
// writes, the other reads and drops, as a server that does nothing with a body would.
Result<double> best_socket_speed(std::uint64_t bytes, double seconds);

}  // namespace kcoral::bench
