// Readable: calls back on the loop each time a descriptor has something to read.
//
// Borrows the descriptor, which must outlive it. The handler must leave nothing unread (it is
// called again as long as there is something). Used on the loop thread only.
#pragma once

#include "base/fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <memory>

namespace kcoral::engine {

class Readable {
  public:
    Readable(boost::asio::io_context& loop, const Fd& descriptor);
    Readable(const Readable&) = delete;
    ~Readable();

    void start(std::function<void()> handler);
    // The handler is not called again, also not by an event that is on its way.
    void stop();

  private:
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

}  // namespace kcoral::engine
