// Transport: how bytes cross a non-blocking socket, plain or by TLS.
//
// Each call does what it can at once and says what to wait for when that is nothing. So plain and
// TLS connections share everything above this, and all waiting is in one place (Connection).
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace kcoral::net {

// What became of one step.
struct Step {
    enum class Kind {
        done,        // `bytes` of them moved, at least one
        want_read,   // nothing moved: try again when the socket can be read from...
        want_write,  // ...or written to
        end,         // the peer has closed its sending side
    };
    Kind kind;
    std::size_t bytes = 0;
};

// Does more follow at once, so that a packet may wait for it?
enum class More { no, yes };

class Transport {
  public:
    virtual ~Transport() = default;

    virtual Result<Step> handshake() = 0;
    virtual Result<Step> read(std::span<std::byte> room) = 0;
    virtual Result<Step> write(std::span<const iovec> parts, More more) = 0;
    // From a file; the bytes must be there.
    virtual Result<Step> send_file(int file, std::uint64_t offset, std::uint64_t length) = 0;
    // Tells the peer that nothing more will come; whatever cannot be sent at once is not.
    virtual void finish() = 0;
    // May bytes be at hand that waiting for the socket would not notice?
    virtual bool holds_input() const = 0;
};

// Borrows the socket.
std::unique_ptr<Transport> make_plain_transport(int socket);

}  // namespace kcoral::net
