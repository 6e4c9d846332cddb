// RawClient: a blocking TCP client for tests that writes whatever bytes it is told to.
//
// Every wait ends after ten seconds with an exception, so that a broken server fails its test.
#pragma once

#include "base/fd.hpp"

#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::net {

struct RawResponse {
    unsigned status = 0;
    std::string head;  // all of it, with its empty line
    std::string body;

    bool has_header(std::string_view line) const;  // "Connection: close"
};

class RawClient {
  public:
    explicit RawClient(std::uint16_t port, const std::string& address = "127.0.0.1");

    void send(std::string_view bytes);
    // As much as the other side takes; false when it has closed.
    bool try_send(std::string_view bytes);
    // Says that nothing more will be sent.
    void finish();
    // Returns once there is something to read.
    void wait_for_input() { wait_for(POLLIN); }
    // Closes with a reset instead of an orderly end.
    void reset();

    // An answer with a Content-Length or chunks, or none for HEAD.
    RawResponse read_response(bool to_head = false);
    // Everything up to the end of the connection, orderly or not.
    std::string read_to_end();
    // Is the connection at its end, with nothing left to read?
    bool at_end() { return read_to_end().empty(); }

  private:
    bool receive();  // false at the end
    void wait_for(short event);

    Fd socket_;
    std::string received_;
};

// "A: b\r\n" headers added to "METHOD target HTTP/1.1" and a Host, ended by the empty line.
std::string make_head(std::string_view method, std::string_view target,
                      const std::vector<std::string>& headers = {});

}  // namespace kcoral::net
