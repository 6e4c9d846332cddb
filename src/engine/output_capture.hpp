// OutputCapture: what a worker writes to one of its output streams, kept up to a limit.
//
// Owns the server's end of a pipe and reads it whenever there is something, so that a program never
// blocks on a full pipe for long; bytes beyond the limit are counted and dropped. What was written
// before a worker's last message, or before its death, is in the pipe by then: drain() fetches it.
// Used on the loop thread only.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace kcoral::engine {

struct CapturedOutput {
    std::string bytes;       // the first bytes, at most the limit
    std::uint64_t size = 0;  // how many were written in all; with a limit of 0 nobody counts
    bool truncated() const { return size > bytes.size(); }
};

class OutputCapture {
  public:
    // `pipe` is made non-blocking.
    static Result<OutputCapture> create(boost::asio::io_context& loop, Fd pipe);
    OutputCapture(OutputCapture&&) noexcept;
    OutputCapture& operator=(OutputCapture&&) = delete;
    ~OutputCapture();  // stops reading

    // Drops what came before and keeps at most `limit` bytes of what comes now.
    void begin(std::uint64_t limit);
    // Reads what is in the pipe now.
    void drain();
    // Drains and gives everything since begin().
    CapturedOutput take();

    struct Reader;

  private:
    explicit OutputCapture(std::shared_ptr<Reader> reader);
    std::shared_ptr<Reader> reader_;
};

}  // namespace kcoral::engine
