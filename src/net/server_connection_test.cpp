// Connections of the HTTP server: slow clients, lost clients, too many clients, stopping.
#include "net/testing/raw_client.hpp"
#include "net/testing/test_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

namespace kcoral::net {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A handler that waits until it is released, its client is gone or it is cancelled. Its state is
// touched on the loop; the futures are for the test's thread.
struct Waiting {
    explicit Waiting(bool reads_body = false) : reads_body(reads_body) {}

    const bool reads_body;
    asio::steady_timer* timer = nullptr;
    bool heeds_disconnect = false;
    std::promise<void> entered, disconnected;
    std::atomic<int> disconnects = 0;

    static asio::awaitable<Response> answer(Waiting* self, Request& request) {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        timer.expires_at(std::chrono::steady_clock::time_point::max());
        self->timer = &timer;
        request.on_disconnect([self] {
            if (self->disconnects++ == 0) self->disconnected.set_value();
            if (self->heeds_disconnect) self->timer->cancel();
        });
        if (self->reads_body) (void)co_await request.read_some();
        self->entered.set_value();
        (void)co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        self->timer = nullptr;
        co_return make_response(200, "text/plain", "waited");
    }

    Route route() {
        return {"POST", "/wait", [this](Request& request) { return answer(this, request); }};
    }
    void release(TestServer& server) {
        server.on_loop([this] { timer->cancel(); });
    }
};

bool happens(std::future<void> event) {
    return event.wait_for(seconds(10)) == std::future_status::ready;
}

TEST(SlowClient, IsAnswered408WithinTheHead) {
    ServerOptions options;
    options.head_timeout = milliseconds(50);
    TestServer server(options);
    for (const char* start : {"G", "GET /hello HTTP/1.1\r\nHost: h\r\n", "\r\nP"}) {
        RawClient client(server.port());
        client.send(start);
        auto response = client.read_response();
        EXPECT_EQ(response.status, 408u);
        EXPECT_TRUE(response.has_header("Connection: close"));
        EXPECT_THAT(response.body, HasSubstr("50 ms"));
    }
}

TEST(SlowClient, IsNotSavedByAByteNowAndThen) {
    ServerOptions options;
    options.head_timeout = milliseconds(100);
    options.linger_timeout = milliseconds(20);
    TestServer server(options);
    RawClient client(server.port());
    std::string head = make_head("GET", "/hello", {"X: " + std::string(5000, 'x')});
    for (char c : head) {
        if (!client.try_send(std::string(1, c))) break;
        std::this_thread::sleep_for(milliseconds(5));
        if (server.on_loop([&] { return server.server().connection_count(); }) == 0) break;
    }
    EXPECT_THAT(client.read_to_end(), HasSubstr("408 "));
}

TEST(SlowClient, IsAnswered408WithinTheBody) {
    ServerOptions options;
    options.progress_timeout = milliseconds(50);
    TestServer server(options);
    for (const char* framing : {"Content-Length: 100", "Transfer-Encoding: chunked"}) {
        RawClient client(server.port());
        client.send(make_head("POST", "/count", {framing}) + "5\r\nabc");
        auto response = client.read_response();
        EXPECT_EQ(response.status, 408u);
        EXPECT_THAT(response.body, HasSubstr("timeout after "));
    }
}

TEST(SlowClient, MustMakeRealProgressInItsBody) {
    ServerOptions options;
    options.progress_timeout = milliseconds(200);
    options.min_progress_bytes = 1000;
    options.linger_timeout = milliseconds(20);
    TestServer server(options);
    RawClient dribbling(server.port());
    dribbling.send(make_head("POST", "/count", {"Content-Length: 100000"}));
    std::thread dribble([&] {
        for (int i = 0; i < 1000 && dribbling.try_send("x"); ++i) {
            std::this_thread::sleep_for(milliseconds(2));
            if (server.on_loop([&] { return server.server().connection_count(); }) == 0) break;
        }
    });
    auto response = dribbling.read_response();
    dribble.join();
    EXPECT_EQ(response.status, 408u);
}

TEST(SlowClient, ThatIsIdleIsClosedWithoutAWord) {
    ServerOptions options;
    options.idle_timeout = milliseconds(50);
    TestServer server(options);
    RawClient fresh(server.port());
    EXPECT_EQ(fresh.read_to_end(), "");
    RawClient used(server.port());
    used.send(make_head("GET", "/hello"));
    EXPECT_EQ(used.read_response().status, 200u);
    EXPECT_EQ(used.read_to_end(), "");
    RawClient empty_lines(server.port());
    empty_lines.send("\r\n\r\n");
    EXPECT_EQ(empty_lines.read_to_end(), "");
}

asio::awaitable<Response> large(Request&) {
    co_return make_response(200, "text/plain", std::string(50'000'000, 'x'));
}

TEST(SlowClient, ThatDoesNotReadItsAnswerIsCutOff) {
    ServerOptions options;
    options.progress_timeout = milliseconds(50);
    TestServer server(options, {{"GET", "/large", large}});
    RawClient client(server.port());
    client.send(make_head("GET", "/large"));
    client.wait_for_input();
    while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
        std::this_thread::sleep_for(milliseconds(5));
    EXPECT_LT(client.read_to_end().size(), 50'000'000u);
}

TEST(LostClient, IsToldToTheHandler) {
    for (bool by_reset : {false, true}) {
        Waiting waiting;
        TestServer server({}, {waiting.route()});
        RawClient client(server.port());
        client.send(make_head("POST", "/wait"));
        ASSERT_TRUE(happens(waiting.entered.get_future()));
        EXPECT_EQ(waiting.disconnects, 0);
        by_reset ? client.reset() : client.finish();
        EXPECT_TRUE(happens(waiting.disconnected.get_future()));
        waiting.release(server);
    }
}

TEST(LostClient, IsNoticedBehindUnreadInput) {
    // Bytes of a next request, and a body that the handler does not read, must not hide the end.
    for (const char* unread : {"GET /hello HTTP/1.1\r\n", ""}) {
        Waiting waiting;
        TestServer server({}, {waiting.route()});
        RawClient client(server.port());
        client.send(make_head("POST", "/wait", {"Content-Length: 100000"}) +
                    std::string(50'000, 'x') + unread);
        ASSERT_TRUE(happens(waiting.entered.get_future()));
        client.finish();
        EXPECT_TRUE(happens(waiting.disconnected.get_future()));
        waiting.release(server);
    }
}

TEST(LostClient, IsToldOnceAndNotAfterTheAnswer) {
    Waiting waiting;
    TestServer server({}, {waiting.route()});
    RawClient client(server.port());
    client.send(make_head("POST", "/wait") + make_head("GET", "/hello"));
    ASSERT_TRUE(happens(waiting.entered.get_future()));
    waiting.release(server);
    EXPECT_EQ(client.read_response().body, "waited");
    EXPECT_EQ(client.read_response().body, "hello /hello");
    client.reset();
    while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
        std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(waiting.disconnects, 0);
}

TEST(LostClient, CallbackMayEndTheHandler) {
    Waiting waiting;
    waiting.heeds_disconnect = true;
    TestServer server({}, {waiting.route()});
    RawClient client(server.port());
    client.send(make_head("POST", "/wait"));
    ASSERT_TRUE(happens(waiting.entered.get_future()));
    client.reset();
    while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
        std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(waiting.disconnects, 1);
}

TEST(ManyClients, FiveHundredIdleOnesDoNotHinderOthers) {
    TestServer server;
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 500; ++i)
        clients.push_back(std::make_unique<RawClient>(server.port()));
    RawClient busy(server.port());
    busy.send(make_head("GET", "/hello"));
    EXPECT_EQ(busy.read_response().status, 200u);
    for (auto& client : clients)
        client->send(make_head("GET", "/hello"));
    for (auto& client : clients)
        EXPECT_EQ(client->read_response().status, 200u);
    EXPECT_EQ(server.on_loop([&] { return server.server().connection_count(); }), 501u);
}

TEST(ManyClients, BeyondTheLimitAreTold503) {
    ServerOptions options;
    options.max_connections = 2;
    TestServer server(options);
    std::optional<RawClient> first(server.port()), second(server.port());
    for (auto* client : {&*first, &*second}) {
        client->send(make_head("GET", "/hello"));
        EXPECT_EQ(client->read_response().status, 200u);
    }
    RawClient third(server.port());
    auto response = third.read_response();
    EXPECT_EQ(response.status, 503u);
    EXPECT_TRUE(response.has_header("Connection: close"));
    EXPECT_TRUE((third.finish(), third.at_end()));
    first.reset();
    while (server.on_loop([&] { return server.server().connection_count(); }) != 1)
        std::this_thread::sleep_for(milliseconds(1));
    RawClient fourth(server.port());
    fourth.send(make_head("GET", "/hello"));
    EXPECT_EQ(fourth.read_response().status, 200u);
}

TEST(Stopping, ClosesIdleConnectionsAndLetsRequestsFinish) {
    Waiting waiting;
    TestServer server({}, {waiting.route()});
    RawClient idle(server.port()), used(server.port()), busy(server.port());
    used.send(make_head("GET", "/hello"));
    EXPECT_EQ(used.read_response().status, 200u);
    busy.send(make_head("POST", "/wait") + make_head("GET", "/hello"));
    ASSERT_TRUE(happens(waiting.entered.get_future()));
    auto stopped = server.stop(seconds(10));
    EXPECT_TRUE(idle.at_end());
    EXPECT_TRUE(used.at_end());
    EXPECT_THROW(RawClient late(server.port()), std::runtime_error);
    EXPECT_EQ(stopped.wait_for(milliseconds(0)), std::future_status::timeout);
    EXPECT_EQ(waiting.disconnects, 0);
    waiting.release(server);
    auto response = busy.read_response();
    EXPECT_EQ(response.body, "waited");
    EXPECT_TRUE(response.has_header("Connection: close"));
    busy.finish();
    EXPECT_TRUE(busy.at_end());
    EXPECT_TRUE(happens(std::move(stopped)));
}

TEST(Stopping, CutsOffAtTheDeadline) {
    Waiting waiting(true);
    TestServer server({}, {waiting.route()});
    RawClient client(server.port()), uploading(server.port());
    client.send(make_head("POST", "/wait"));
    ASSERT_TRUE(happens(waiting.entered.get_future()));
    uploading.send(make_head("POST", "/count", {"Content-Length: 10"}) + "x");
    EXPECT_TRUE(happens(server.stop(milliseconds(30))));
    EXPECT_EQ(waiting.disconnects, 1);
    EXPECT_EQ(client.read_to_end(), "");
    uploading.read_to_end();
    EXPECT_EQ(server.on_loop([&] { return server.server().connection_count(); }), 0u);
}

TEST(Stopping, MayLeaveRequestsToTheEndOfTheLoop) {
    // The server and its loop go away under a running handler and an idle connection.
    Waiting waiting;
    std::optional<RawClient> client, idle;
    asio::io_context loop(1);
    auto server =
        HttpServer::create(loop, {}, route({waiting.route()}, plain_error_body), plain_error_body);
    ASSERT_TRUE(server);
    (*server)->start();
    idle.emplace((*server)->port());
    client.emplace((*server)->port());
    client->send(make_head("POST", "/wait"));
    auto entered = waiting.entered.get_future();
    while (entered.wait_for(seconds(0)) != std::future_status::ready)
        loop.run_one_for(seconds(10));
}

TEST(Address, MayBeIpv6OrAName) {
    struct {
        const char* address;
        const char* connect_to;
        const char* url_start;
    } const table[] = {{"::1", "::1", "http://[::1]:"},
                       {"[::1]", "::1", "http://[::1]:"},
                       {"localhost", "127.0.0.1", "http://127.0.0.1:"},
                       {"0.0.0.0", "127.0.0.1", "http://0.0.0.0:"},
                       {"::", "127.0.0.1", "http://[::]:"}};
    for (const auto& row : table) {
        ServerOptions options;
        options.address = row.address;
        TestServer server(options);
        EXPECT_EQ(server.server().url(), row.url_start + std::to_string(server.port()));
        RawClient client(server.port(), row.connect_to);
        client.send(make_head("GET", "/hello"));
        EXPECT_EQ(client.read_response().status, 200u) << row.address;
    }
}

TEST(Address, ThatCannotBeUsedIsNamed) {
    asio::io_context loop(1);
    auto handler = route({}, plain_error_body);
    TestServer taken;
    ServerOptions options;
    options.port = taken.port();
    auto second = HttpServer::create(loop, options, handler, plain_error_body);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:" + std::to_string(taken.port())));
    options.address = "no-such-host.invalid";
    auto nowhere = HttpServer::create(loop, options, handler, plain_error_body);
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().message, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace kcoral::net
