// From a URL to a connection.
#include "net/connector.hpp"

#include "net/socket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace kcoral::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A name lookup cannot be interrupted. It leaves its result here and wakes whoever still waits.
struct Lookup {
    explicit Lookup(const asio::any_io_executor& loop) : resolver(loop), done(loop) {}

    tcp::resolver resolver;
    asio::steady_timer done;
    bool finished = false;
    boost::system::error_code error;
    std::vector<Peer> found;
};

void start(const std::shared_ptr<Lookup>& lookup, const Url& url) {
    lookup->resolver.async_resolve(
        url.host, "",
        [lookup, port = url.port](boost::system::error_code error, const auto& results) {
            lookup->finished = true;
            lookup->error = error;
            for (const auto& entry : results) {
                Peer peer{entry.endpoint().address(), port};
                auto same = [&](const Peer& other) { return other.address == peer.address; };
                if (std::ranges::none_of(lookup->found, same))
                    lookup->found.push_back(std::move(peer));
            }
            lookup->done.cancel();
        });
}

asio::awaitable<Result<std::vector<Peer>>> look_up(asio::any_io_executor loop, const Url& url,
                                                   SteadyTime deadline) {
    boost::system::error_code error;
    if (auto address = asio::ip::make_address(url.host, error); !error)
        co_return std::vector<Peer>{{address, url.port}};

    auto lookup = std::make_shared<Lookup>(loop);
    lookup->done.expires_at(deadline);
    start(lookup, url);
    auto [expired] = co_await lookup->done.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!expired)
        co_return failure(ErrorCode::timeout, "looking up the host " + url.host + " took too long");
    if (!lookup->finished)
        co_return failure(ErrorCode::cancelled, "looking up a host was cancelled");
    if (lookup->error || lookup->found.empty())
        co_return failure(ErrorCode::not_found,
                          "the host " + url.host + " is not known: " + lookup->error.message());
    co_return std::move(lookup->found);
}

asio::awaitable<Result<std::unique_ptr<Connection>>> connect_to(
    asio::any_io_executor loop, const Peer& peer, const Url& url,
    const std::optional<TlsContext>& tls, SteadyTime deadline) {
    CO_TRY_ASSIGN(Fd socket, start_connecting(peer));
    int descriptor = socket.get();
    auto transport = tls ? tls->connect(descriptor, url.host) : make_plain_transport(descriptor);
    auto connection = std::make_unique<Connection>(loop, std::move(socket), std::move(transport));
    auto ready = co_await connection->wait(Step::Kind::want_write, deadline);
    if (ready) {
        CO_TRY(connect_outcome(descriptor, peer));
        ready = co_await connection->handshake(deadline);
    }
    if (!ready)
        co_return Failure(std::move(ready).error().within("connecting to " + peer.to_string()));
    co_return std::move(connection);
}

}  // namespace

asio::awaitable<Result<std::unique_ptr<Connection>>> connect(asio::any_io_executor loop,
                                                             const Url& url,
                                                             const std::optional<TlsContext>& tls,
                                                             SteadyTime deadline) {
    auto peers = co_await look_up(loop, url, deadline);
    if (!peers) co_return Failure(std::move(peers).error());
    Error last(ErrorCode::not_found, "the host " + url.host + " has no address");
    for (std::size_t i = 0; i < peers->size(); ++i) {
        SteadyTime now = std::chrono::steady_clock::now();
        SteadyTime share = now + (deadline - now) / static_cast<int>(peers->size() - i);
        auto connection = co_await connect_to(loop, (*peers)[i], url, tls, share);
        if (connection || connection.error().code == ErrorCode::cancelled) co_return connection;
        last = std::move(connection).error();
    }
    co_return Failure(std::move(last));
}

}  // namespace kcoral::net
