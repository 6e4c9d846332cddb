// Connections of the HTTP client: stale ones, answers that come early, cancelled requests.
#include "net/testing/blocking_client.hpp"
#include "net/testing/scripted_server.hpp"
#include "net/testing/test_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace kcoral::net {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

Pieces text_body(std::string text) {
    Pieces body;
    body.emplace_back(std::move(text));
    return body;
}

void expect_failure(const ClientResult& result, Stage stage, ErrorCode code,
                    const std::string& what = "") {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().stage, stage) << what << ": " << result.error().error.message;
    EXPECT_EQ(result.error().error.code, code) << what << ": " << result.error().error.message;
}

// A server that closes kept connections: at once, or only when the next request comes.
TEST(StaleConnection, ThatIsSeenClosedIsReplacedForAnyMethod) {
    TestServer server([] {
        ServerOptions options;
        options.idle_timeout = milliseconds(10);
        return options;
    }());
    BlockingClient client(server.server().url());
    for (int i = 0; i < 3; ++i) {
        auto response = client.post("/echo", text_body("x"));
        ASSERT_TRUE(response);
        EXPECT_EQ(client.read_all(response), "x");
        while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
            std::this_thread::sleep_for(milliseconds(1));
    }
}

TEST(StaleConnection, ThatBreaksUnderARequestIsRetriedOnlyForGetAndHead) {
    for (const char* method : {"GET", "HEAD", "POST"}) {
        std::atomic<int> heads = 0;
        ScriptedServer server([&](ScriptedConnection& connection, int number) {
            while (!connection.read_head().empty()) {
                // The first connection dies under its second request.
                if (++heads == 2 && number == 0) return;
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        BlockingClient client(server.url());
        for (int i = 0; i < 2; ++i) {
            ClientRequest request;
            request.method = method;
            auto response = client.send(std::move(request));
            if (i == 1 && std::string_view(method) == "POST") {
                expect_failure(response, Stage::response, ErrorCode::closed);
                EXPECT_EQ(heads, 2);
            } else {
                ASSERT_TRUE(response) << method << i;
                EXPECT_EQ(client.read_all(response), "");
            }
        }
    }
}

TEST(StaleConnection, ThatIsOldIsNotUsed) {
    std::atomic<int> connections = 0;
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        ++connections;
        while (!connection.read_head().empty())
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    ClientOptions none_old, none_kept;
    none_old.max_idle_time = milliseconds(0);
    none_kept.max_idle_connections = 0;
    for (const ClientOptions& options : {none_old, none_kept, ClientOptions()}) {
        BlockingClient client(server.url(), options);
        for (int i = 0; i < 3; ++i) {
            auto response = client.get("/");
            ASSERT_TRUE(response);
            EXPECT_EQ(client.read_all(response), "");
        }
    }
    EXPECT_EQ(connections, 3 + 3 + 1);
}

TEST(EarlyAnswer, EndsTheSending) {
    ServerOptions options;
    options.max_body_bytes = 1000;
    TestServer server(options);
    BlockingClient client(server.server().url());
    for (int i = 0; i < 3; ++i) {
        auto response = client.post("/count", text_body(std::string(100'000'000, 'x')));
        ASSERT_TRUE(response) << response.error().error.message;
        EXPECT_EQ((*response)->status(), 413u);
        EXPECT_EQ(client.read_all(response), "too_large after 0");
    }
    auto response = client.post("/count", text_body(std::string(1000, 'x')));
    ASSERT_TRUE(response);
    EXPECT_EQ(client.read_all(response), "1000");
}

TEST(EarlyAnswer, IsSeenEvenWhenTheServerClosesAtOnce) {
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        connection.read_head();
        connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    });
    BlockingClient client(server.url());
    auto response = client.post("/", text_body(std::string(50'000'000, 'x')));
    ASSERT_TRUE(response) << response.error().error.message;
    EXPECT_EQ((*response)->status(), 503u);
    EXPECT_EQ(client.read_all(response), "busy");
}

TEST(EarlyAnswer, IsNotSeenInAnInterimOne) {
    std::size_t size = 20'000'000;
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        connection.read_head();
        connection.send("HTTP/1.1 100 Continue\r\n\r\n");
        std::this_thread::sleep_for(milliseconds(20));
        connection.wait_for_end();
    });
    ClientOptions options;
    options.progress_timeout = milliseconds(300);
    BlockingClient client(server.url(), options);
    ClientRequest request;
    request.method = "POST";
    request.body = text_body(std::string(size, 'x'));
    request.response_timeout = milliseconds(50);
    expect_failure(client.send(std::move(request)), Stage::response, ErrorCode::timeout);
}

TEST(Cancellation, EndsARequestThatWaits) {
    ScriptedServer server([&](ScriptedConnection& connection, int) { connection.wait_for_end(); });
    BlockingClient client(server.url());
    asio::cancellation_signal signal;
    bool ended = false;
    ClientResult outcome = std::unexpected(ClientError{Stage::connect, {ErrorCode::internal, ""}});
    auto done = [&](std::exception_ptr, ClientResult result) {
        ended = true;
        outcome = std::move(result);
    };
    asio::co_spawn(client.loop(), client.client().send({}),
                   asio::bind_cancellation_slot(signal.slot(), done));
    client.loop().run_for(milliseconds(30));
    EXPECT_FALSE(ended);
    signal.emit(asio::cancellation_type::terminal);
    client.loop().restart();
    client.loop().run();
    ASSERT_TRUE(ended);
    expect_failure(outcome, Stage::response, ErrorCode::cancelled);
}

TEST(Client, SendsRequestsSideBySide) {
    TestServer server;
    BlockingClient client(server.server().url());
    std::vector<std::future<ClientResult>> results;
    for (int i = 0; i < 5; ++i) {
        ClientRequest request;
        request.method = "POST";
        request.target = "/echo";
        request.body = text_body(std::to_string(i) + std::string(1'000'000, 'x'));
        results.push_back(asio::co_spawn(client.loop(), client.client().send(std::move(request)),
                                         asio::use_future));
    }
    client.loop().run();
    for (int i = 0; i < 5; ++i) {
        auto response = results[static_cast<std::size_t>(i)].get();
        ASSERT_TRUE(response);
        auto text = client.read_all(response);
        ASSERT_TRUE(text);
        EXPECT_TRUE(*text == std::to_string(i) + std::string(1'000'000, 'x'));
    }
}

}  // namespace
}  // namespace kcoral::net
