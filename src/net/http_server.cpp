// The HTTP server: its listening socket, who is let in, and how it stops.
#include "net/http_server.hpp"

#include "base/log.hpp"
#include "net/server_core.hpp"
#include "net/session.hpp"
#include "net/socket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace kcoral::net {

namespace asio = boost::asio;

unsigned status_of_body_error(const Error& error) {
    switch (error.code) {
        case ErrorCode::too_large:
            return 413;
        case ErrorCode::timeout:
            return 408;
        default:
            return 400;
    }
}

namespace {

// Connections beyond the limit that are told so at the same time; more are closed without a word.
constexpr std::size_t max_refusals = 64;
constexpr std::chrono::milliseconds pause_without_descriptors{100};
constexpr std::chrono::seconds patience_after_deadline{1};

class Listener : public std::enable_shared_from_this<Listener> {
  public:
    Listener(std::shared_ptr<ServerCore> core, Fd socket)
        : core_(std::move(core)), socket_(core_->loop, socket.release()), pause_(core_->loop) {}

    void start() { asio::co_spawn(core_->loop, run(shared_from_this()), asio::detached); }

    void close() {
        closed_ = true;
        if (socket_.is_open()) socket_.close();
        pause_.cancel();
    }

  private:
    static asio::awaitable<void> run(std::shared_ptr<Listener> self) {
        while (!self->closed_) {
            auto [error] = co_await self->socket_.async_wait(
                asio::posix::descriptor_base::wait_read, asio::as_tuple(asio::use_awaitable));
            if (error || self->closed_) co_return;
            if (self->accept_waiting()) continue;
            // Usually no descriptor is left. The client waits in the queue meanwhile.
            self->pause_.expires_after(pause_without_descriptors);
            co_await self->pause_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

    // False when the system refuses.
    bool accept_waiting() {
        constexpr int most_in_one_turn = 64;
        for (int i = 0; i < most_in_one_turn; ++i) {
            auto accepted = accept_from(socket_.native_handle());
            if (!accepted) {
                log::warning("{}", accepted.error().message);
                return false;
            }
            if (!*accepted) return true;
            admit(std::move(**accepted));
        }
        return true;
    }

    void admit(Accepted accepted) {
        std::size_t served = core_->sessions.size() - core_->refusals;
        auto admission = Admission::admitted;
        if (served >= core_->options.max_connections) {
            if (core_->refusals >= max_refusals) return;
            admission = Admission::refused;
        }
        try {
            Session::start(core_, std::move(accepted.socket), std::move(accepted.peer), admission);
        } catch (const std::exception& error) {
            log::error("a connection could not be served: {}", error.what());
        }
    }

    const std::shared_ptr<ServerCore> core_;
    asio::posix::stream_descriptor socket_;
    asio::steady_timer pause_;
    bool closed_ = false;
};

class Server final : public HttpServer {
  public:
    Server(std::shared_ptr<ServerCore> core, Fd listener, Peer local)
        : core_(std::move(core)),
          listener_(std::make_shared<Listener>(core_, std::move(listener))),
          local_(std::move(local)) {}

    ~Server() override {
        core_->session_ended = [] {};
        core_->stopping = true;
        listener_->close();
        cut_off_all();
    }

    void start() override { listener_->start(); }

    std::uint16_t port() const override { return local_.port; }

    std::string url() const override {
        return (core_->tls ? "https://" : "http://") + local_.to_string();
    }

    std::size_t connection_count() const override {
        return core_->sessions.size() - core_->refusals;
    }

    asio::awaitable<void> stop(SteadyTime deadline) override {
        core_->stopping = true;
        listener_->close();
        asio::steady_timer all_gone(core_->loop);
        core_->session_ended = [&] {
            if (core_->sessions.empty()) all_gone.cancel();
        };
        for (Session* session : sessions())
            session->close_if_idle();
        if (!core_->sessions.empty()) {
            all_gone.expires_at(deadline);
            co_await all_gone.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        if (!core_->sessions.empty()) {
            log::warning("cutting off {} connections that did not end in time",
                         core_->sessions.size());
            all_gone.expires_after(patience_after_deadline);
            cut_off_all();
            co_await all_gone.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        core_->session_ended = [] {};
    }

    Result<void> reload_tls() override {
        if (!core_->options.tls)
            return failure(ErrorCode::bad_request, "this server does not use TLS");
        TRY_ASSIGN(core_->tls, TlsContext::for_server(*core_->options.tls));
        return {};
    }

  private:
    // A copy: callbacks may change the set.
    std::vector<Session*> sessions() const {
        return {core_->sessions.begin(), core_->sessions.end()};
    }

    void cut_off_all() {
        for (Session* session : sessions())
            if (core_->sessions.contains(session)) session->cut_off();
    }

    const std::shared_ptr<ServerCore> core_;
    const std::shared_ptr<Listener> listener_;
    const Peer local_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::create(asio::io_context& loop,
                                                       ServerOptions options, Handler handler,
                                                       ErrorBody error_body) {
    ignore_broken_pipes();
    std::optional<TlsContext> tls;
    if (options.tls) {
        TRY_ASSIGN(tls, TlsContext::for_server(*options.tls));
    }
    TRY_ASSIGN(Fd listener, listen_on(options.address, options.port, options.backlog));
    TRY_ASSIGN(Peer local, local_address(listener));
    TRY_ASSIGN(DisconnectWatch watch, DisconnectWatch::create(loop.get_executor()));
    auto core =
        std::make_shared<ServerCore>(loop.get_executor(), std::move(options), std::move(handler),
                                     std::move(error_body), std::move(watch), std::move(tls));
    return std::make_unique<Server>(std::move(core), std::move(listener), std::move(local));
}

}  // namespace kcoral::net
