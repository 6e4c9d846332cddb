// The HTTP client against our server, and against servers that misbehave.
#include "net/http_client.hpp"

#include "net/socket.hpp"
#include "net/testing/blocking_client.hpp"
#include "net/testing/scripted_server.hpp"
#include "net/testing/test_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace kcoral::net {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

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

TEST(Client, UsesOneConnectionForRequestsInARow) {
    TestServer server;
    BlockingClient client(server.server().url());
    for (int i = 0; i < 3; ++i) {
        auto response = client.get("/hello?" + std::to_string(i));
        ASSERT_TRUE(response);
        EXPECT_EQ((*response)->status(), 200u);
        EXPECT_EQ((*response)->content_length(), 14u);
        EXPECT_EQ((*response)->headers().find("content-type"), "text/plain");
        EXPECT_EQ(client.read_all(response), "hello /hello?" + std::to_string(i));
        EXPECT_EQ(server.on_loop([&] { return server.server().connection_count(); }), 1u);
    }
}

TEST(Client, SendsPiecesOfEveryKindBothWays) {
    TestServer server;
    BlockingClient client(server.server().url());
    std::string content(10'000'000, 'x');
    for (std::size_t i = 0; i < content.size(); i += 1000)
        content[i] = static_cast<char>(i / 1000);
    auto file = make_memory_file("test");
    ASSERT_TRUE(file && write_all(*file, as_bytes(content)));
    for (int i = 0; i < 2; ++i) {
        Pieces body;
        body.emplace_back("start");
        body.emplace_back(FileRange{std::make_shared<const Fd>(*file->duplicate()), 5, 9'000'000});
        body.emplace_back(SharedBytes(std::make_shared<const std::string>("end")));
        auto response = client.post("/echo", std::move(body));
        ASSERT_TRUE(response);
        auto text = client.read_all(response);
        ASSERT_TRUE(text);
        EXPECT_TRUE(*text == "start" + content.substr(5, 9'000'000) + "end");
    }
}

TEST(Client, PutsThePrefixAndHeadersInFront) {
    std::string head;
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        head = connection.read_head();
        connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        connection.wait_for_end();
    });
    {
        ClientOptions options;
        options.headers.add("Authorization", "Bearer x");
        BlockingClient client(server.url() + "/some/prefix/", options);
        ClientRequest request;
        request.method = "POST";
        request.target = "/execute";
        request.headers.add("X-A", "b");
        auto response = client.send(std::move(request));
        ASSERT_TRUE(response);
        EXPECT_EQ((*response)->status(), 204u);
        EXPECT_EQ(client.read_all(response), "");
    }
    EXPECT_EQ(head, "POST /some/prefix/execute HTTP/1.1\r\nHost: 127.0.0.1:" +
                        std::to_string(server.port()) +
                        "\r\nAuthorization: Bearer x\r\nX-A: b\r\nContent-Length: 0\r\n\r\n");
}

TEST(Client, ReadsBodiesOfEveryFraming) {
    struct {
        const char* answer;
        const char* body;
        bool kept;
    } const table[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
         "abc", true},
        {"HTTP/1.1 200 OK\r\n\r\nabc", "abc", false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "abc", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\nA: b\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
         "abc", true},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "", true},
        // What follows an answer unasked spoils the connection.
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n", "abc", false},
    };
    for (const auto& row : table) {
        std::atomic<int> connections = 0;
        ScriptedServer server([&](ScriptedConnection& connection, int) {
            ++connections;
            std::string_view answer = row.answer;
            bool until_close = answer.starts_with("HTTP/1.1 200 OK\r\n\r\n");
            while (!connection.read_head().empty()) {
                connection.send(answer);
                if (until_close || !row.kept) break;
            }
        });
        BlockingClient client(server.url());
        for (int i = 0; i < 2; ++i) {
            auto response = client.get("/");
            ASSERT_TRUE(response) << row.answer;
            EXPECT_EQ(client.read_all(response), row.body) << row.answer;
        }
        EXPECT_EQ(connections, row.kept ? 1 : 2) << row.answer;
    }
}

TEST(Client, ReadsNoBodyBehindHead) {
    TestServer server;
    BlockingClient client(server.server().url());
    for (int i = 0; i < 2; ++i) {
        ClientRequest request;
        request.method = "HEAD";
        request.target = "/hello";
        auto response = client.send(std::move(request));
        ASSERT_TRUE(response);
        EXPECT_EQ((*response)->content_length(), 12u);
        EXPECT_EQ(client.read_all(response), "");
    }
    EXPECT_EQ(server.on_loop([&] { return server.server().connection_count(); }), 1u);
}

TEST(Client, TellsThatItCouldNotConnect) {
    auto listener = listen_on("127.0.0.1", 0, 1);
    ASSERT_TRUE(listener);
    std::string url = "http://127.0.0.1:" + std::to_string(local_address(*listener)->port);
    listener->reset();
    BlockingClient client(url);
    auto refused = client.get("/");
    expect_failure(refused, Stage::connect, ErrorCode::io);
    EXPECT_THAT(refused.error().error.message, HasSubstr("127.0.0.1:"));
    BlockingClient nowhere("http://no-such-host.invalid");
    expect_failure(nowhere.get("/"), Stage::connect, ErrorCode::not_found);
}

TEST(Client, GivesUpConnectingInTime) {
    // A listener whose queue is full takes no more connections and does not say so.
    auto listener = listen_on("127.0.0.1", 0, 0);
    ASSERT_TRUE(listener);
    Peer peer = *local_address(*listener);
    std::vector<Fd> waiting;
    for (int i = 0; i < 4; ++i)
        waiting.push_back(*start_connecting(peer));
    ClientOptions options;
    options.connect_timeout = milliseconds(50);
    BlockingClient client("http://" + peer.to_string(), options);
    expect_failure(client.get("/"), Stage::connect, ErrorCode::timeout);
}

TEST(Client, TellsThatNothingWasSent) {
    TestServer server;
    BlockingClient client(server.server().url());
    ClientRequest bad_header;
    bad_header.headers.add("A", "b\r\nc: d");
    expect_failure(client.send(std::move(bad_header)), Stage::unsent, ErrorCode::bad_request);
    expect_failure(client.get("no-slash"), Stage::unsent, ErrorCode::bad_request);
    expect_failure(client.get("/a b"), Stage::unsent, ErrorCode::bad_request);
}

TEST(Client, TellsThatTheAnswerIsMissingOrBroken) {
    struct {
        const char* answer;
        ErrorCode code;
    } const table[] = {
        {"", ErrorCode::closed},
        {"HTTP/1.1 200 O", ErrorCode::closed},
        {"HTTP/1.1 100 Continue\r\n\r\n", ErrorCode::closed},
        {"SSH-2.0-nonsense\r\n\r\n", ErrorCode::protocol},
        {"HTTP/1.1 101 Switching\r\n\r\n", ErrorCode::protocol},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ErrorCode::protocol},
    };
    for (const auto& row : table) {
        ScriptedServer server([&](ScriptedConnection& connection, int) {
            connection.read_head();
            connection.send(row.answer);
        });
        BlockingClient client(server.url());
        expect_failure(client.post("/", text_body("x")), Stage::response, row.code, row.answer);
    }
}

TEST(Client, TellsThatABodyIsIncomplete) {
    struct {
        const char* answer;
        ErrorCode code;
    } const table[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorCode::closed},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ErrorCode::closed},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n",
         ErrorCode::protocol},
    };
    for (const auto& row : table) {
        ScriptedServer server([&](ScriptedConnection& connection, int) {
            connection.read_head();
            connection.send(row.answer);
        });
        BlockingClient client(server.url());
        auto response = client.get("/");
        ASSERT_TRUE(response);
        auto body = client.read_all(response);
        ASSERT_FALSE(body) << row.answer;
        EXPECT_EQ(body.error().code, row.code) << body.error().message;
    }
}

TEST(Client, LimitsHeadsAndBodiesExactly) {
    std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: " + std::string(500, 'x') + "\r\n\r\n";
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        while (!connection.read_head().empty())
            connection.send(answer + "abc");
    });
    ClientOptions options;
    options.max_head_bytes = answer.size();
    {
        BlockingClient client(server.url(), options);
        auto response = client.get("/");
        ASSERT_TRUE(response);
        EXPECT_EQ(client.read_all(response, 3), "abc");
        response = client.get("/");
        ASSERT_TRUE(response);
        auto body = client.read_all(response, 2);
        ASSERT_FALSE(body);
        EXPECT_EQ(body.error().code, ErrorCode::too_large);
    }
    options.max_head_bytes -= 1;
    BlockingClient client(server.url(), options);
    expect_failure(client.get("/"), Stage::response, ErrorCode::protocol);
}

TEST(Client, WaitsForAnAnswerNoLongerThanAsked) {
    ScriptedServer server([&](ScriptedConnection& connection, int) { connection.wait_for_end(); });
    BlockingClient client(server.url());
    ClientRequest request;
    request.response_timeout = milliseconds(30);
    expect_failure(client.send(std::move(request)), Stage::response, ErrorCode::timeout);
}

TEST(Client, GivesUpOnABodyThatStalls) {
    ScriptedServer server([&](ScriptedConnection& connection, int) {
        connection.read_head();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
        connection.wait_for_end();
    });
    ClientOptions options;
    options.progress_timeout = milliseconds(30);
    BlockingClient client(server.url(), options);
    auto response = client.get("/");
    ASSERT_TRUE(response);
    auto body = client.read_all(response);
    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().code, ErrorCode::timeout);
    response->reset();
}

TEST(Client, ClosesTheConnectionOfAnAnswerThatIsNotRead) {
    TestServer server;
    BlockingClient client(server.server().url());
    ASSERT_TRUE(client.get("/hello"));
    while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
        std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(client.get("/hello"));
}

TEST(Client, LeavesTheLoopWithoutWorkBetweenRequests) {
    TestServer server;
    BlockingClient client(server.server().url());
    auto response = client.get("/hello");
    ASSERT_TRUE(response);
    EXPECT_EQ(client.read_all(response), "hello /hello");
    client.loop().restart();
    client.loop().run();  // returns, although a connection is kept
}

TEST(Client, ConnectsByNameAndByIpv6) {
    struct {
        const char* listen_on;
        const char* host;
    } const table[] = {{"::1", "[::1]"}, {"127.0.0.1", "localhost"}};
    for (const auto& row : table) {
        ServerOptions options;
        options.address = row.listen_on;
        TestServer server(options);
        BlockingClient client("http://" + std::string(row.host) + ":" +
                              std::to_string(server.port()));
        auto response = client.get("/hello");
        ASSERT_TRUE(response) << row.host << response.error().error.message;
        EXPECT_EQ(client.read_all(response), "hello /hello");
    }
}

}  // namespace
}  // namespace kcoral::net
