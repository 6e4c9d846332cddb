// Steps on a socket, and waiting for it with a deadline.
#include "net/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/socket.h>

#include <utility>

namespace kcoral::net {

namespace asio = boost::asio;

Connection::Connection(const asio::any_io_executor& loop, Fd socket,
                       std::unique_ptr<Transport> transport)
    : socket_(loop, socket.release()), transport_(std::move(transport)), deadline_(loop, [this] {
          timed_out_ = true;
          socket_.cancel();
      }) {}

asio::awaitable<Result<void>> Connection::handshake(SteadyTime deadline) {
    while (true) {
        auto step = transport_->handshake();
        if (!step) co_return Failure(std::move(step).error());
        if (step->kind == Step::Kind::done) co_return Result<void>();
        if (step->kind == Step::Kind::end)
            co_return failure(ErrorCode::closed, "the connection ended before it was set up");
        auto ready = co_await wait(step->kind, deadline);
        if (!ready) co_return ready;
    }
}

void Connection::moved(const Result<Step>& step) {
    if (step) moved_since_wait_ += step->bytes;
}

Result<Step> Connection::read(std::size_t capacity) {
    auto step = transport_->read(input_.room(capacity));
    if (step) input_.filled(step->bytes);
    moved(step);
    return step;
}

Result<Step> Connection::write(std::span<const iovec> parts, More more) {
    auto step = transport_->write(parts, more);
    moved(step);
    return step;
}

Result<Step> Connection::send_file(int file, std::uint64_t offset, std::uint64_t length) {
    auto step = transport_->send_file(file, offset, length);
    moved(step);
    return step;
}

asio::awaitable<Result<void>> Connection::wait(Step::Kind wanted, SteadyTime deadline) {
    moved_since_wait_ = 0;
    if (aborted_) co_return failure(ErrorCode::closed, "the connection was cut off");
    timed_out_ = false;
    deadline_.set(deadline);
    auto direction = wanted == Step::Kind::want_read ? asio::posix::descriptor_base::wait_read
                                                     : asio::posix::descriptor_base::wait_write;
    auto [error] = co_await socket_.async_wait(direction, asio::as_tuple(asio::use_awaitable));
    deadline_.clear();
    if (aborted_) co_return failure(ErrorCode::closed, "the connection was cut off");
    if (timed_out_) co_return failure(ErrorCode::timeout, "the peer is too slow");
    if (error == asio::error::operation_aborted)
        co_return failure(ErrorCode::cancelled, "the wait for the peer was cancelled");
    if (error) co_return Failure(system_error("waiting for a socket", error.value()));
    co_return Result<void>();
}

asio::awaitable<Result<void>> Connection::wait(Step::Kind wanted, Progress& progress) {
    SteadyTime start = std::chrono::steady_clock::now();
    SteadyTime deadline = progress.deadline(start);
    if (deadline <= start) co_return failure(ErrorCode::timeout, "the peer is too slow");
    auto ready = co_await wait(wanted, deadline);
    progress.waited(std::chrono::steady_clock::now() - start);
    co_return ready;
}

asio::awaitable<void> Connection::give_turn() {
    moved_since_wait_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
}

asio::awaitable<void> Connection::linger(SteadyTime deadline) {
    transport_->finish();
    input_.consume(input_.size());
    while (!aborted_) {
        auto step = read(64 << 10);
        input_.consume(input_.size());
        if (!step || step->kind == Step::Kind::end) break;
        if (step->kind == Step::Kind::done) {
            if (std::chrono::steady_clock::now() >= deadline) break;
            if (owes_a_turn()) co_await give_turn();
            continue;
        }
        auto ready = co_await wait(step->kind, deadline);
        if (!ready) break;
    }
}

void Connection::give_up() {
    ::linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Connection::abort() {
    aborted_ = true;
    socket_.cancel();
}

}  // namespace kcoral::net
