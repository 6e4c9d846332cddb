// Connection: one TCP connection, plain or TLS, and every wait on it.
//
// Reading and writing are steps that never block; `wait` is the one place where a coroutine
// sleeps, and each sleep has a deadline. Loop thread only.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "net/deadline.hpp"
#include "net/input_buffer.hpp"
#include "net/progress.hpp"
#include "net/transport.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace kcoral::net {

class Connection {
  public:
    // Takes a non-blocking socket; `transport` works on it.
    Connection(const boost::asio::any_io_executor& loop, Fd socket,
               std::unique_ptr<Transport> transport);

    int descriptor() { return socket_.native_handle(); }
    InputBuffer& input() { return input_; }
    Transport& transport() { return *transport_; }

    boost::asio::awaitable<Result<void>> handshake(SteadyTime deadline);

    // Reads into the input, which may grow to `capacity` bytes.
    Result<Step> read(std::size_t capacity);
    Result<Step> write(std::span<const iovec> parts, More more);
    Result<Step> send_file(int file, std::uint64_t offset, std::uint64_t length);

    // Sleeps until the socket is ready for what the step wanted. Fails with timeout, cancelled
    // (the coroutine was), closed (abort was called).
    boost::asio::awaitable<Result<void>> wait(Step::Kind wanted, SteadyTime deadline);
    // The same with a progress limit, which learns how long it took.
    boost::asio::awaitable<Result<void>> wait(Step::Kind wanted, Progress& progress);

    // Has so much moved without a wait that other connections should have a turn?
    bool owes_a_turn() const { return moved_since_wait_ > max_moved_without_wait; }
    boost::asio::awaitable<void> give_turn();

    // Says that nothing more will be sent, and drops what still arrives until the peer closes too
    // or the deadline passes. Closing without this can destroy an answer that is on its way.
    boost::asio::awaitable<void> linger(SteadyTime deadline);

    // Makes closing a reset, which drops what the peer has not taken yet: for a message that cannot
    // be finished.
    void give_up();

    // Ends waits of now and later.
    void abort();
    bool aborted() const { return aborted_; }

    // Leaves no timer in the loop while nobody waits here.
    void rest() { deadline_.stop(); }

  private:
    static constexpr std::size_t max_moved_without_wait = 4 << 20;

    void moved(const Result<Step>& step);

    boost::asio::posix::stream_descriptor socket_;
    std::unique_ptr<Transport> transport_;
    InputBuffer input_;
    Deadline deadline_;
    std::size_t moved_since_wait_ = 0;
    bool timed_out_ = false;
    bool aborted_ = false;
};

}  // namespace kcoral::net
