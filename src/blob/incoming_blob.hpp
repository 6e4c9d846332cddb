// IncomingBlob: a blob while its bytes arrive.
//
// Bytes are copied once, into the place where they stay, and hashed behind their arrival on a
// thread pool: one ordered chain a blob, several blobs on several cores. Dropping an IncomingBlob
// drops its bytes. Used on the loop thread only; the pool must be joined before the loop's
// io_context is destroyed.
//
//     if (auto written = incoming.append(chunk); !written) ...
//     if (incoming.lagging()) co_await incoming.caught_up();
//     ...
//     auto blob = co_await incoming.finish();
#pragma once

#include "blob/blob.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>

namespace kcoral::blob {

class IncomingBlob {
  public:
    // How far hashing may stay behind before lagging() asks the sender to wait. It bounds the time
    // that finish() takes, not memory: the bytes are in their place already.
    static constexpr std::uint64_t max_lag = 8 << 20;

    IncomingBlob(boost::asio::any_io_executor loop, boost::asio::any_io_executor pool);
    ~IncomingBlob();
    IncomingBlob(IncomingBlob&&) noexcept;
    IncomingBlob& operator=(IncomingBlob&&) noexcept;

    // Fails when the machine has no memory or no descriptor for the bytes; the blob is useless
    // after that.
    Result<void> append(ByteView bytes);

    std::uint64_t size() const;

    // Is hashing so far behind that more bytes should not be read now?
    bool lagging() const;
    // Returns once it no longer is. Cancellation ends the wait early.
    boost::asio::awaitable<void> caught_up();

    // No more bytes will come: what is left is hashed now, in the background. For a caller that
    // finishes later, after other blobs have arrived.
    void end();

    // Ends it, waits for the hash, seals and gives the blob. At most once, and the last call. The
    // work goes on to its end even when the wait is cancelled.
    boost::asio::awaitable<Result<BlobPtr>> finish();

  private:
    struct Core;
    std::shared_ptr<Core> core_;
};

}  // namespace kcoral::blob
