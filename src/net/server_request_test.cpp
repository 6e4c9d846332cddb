// The HTTP server, request by request: routes, heads, limits on heads, methods and problems.
#include "net/testing/raw_client.hpp"
#include "net/testing/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace kcoral::net {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;

TEST(Server, AnswersManyRequestsOnOneConnection) {
    TestServer server;
    RawClient client(server.port());
    for (int i = 0; i < 3; ++i) {
        client.send(make_head("GET", "/hello?" + std::to_string(i)));
        auto response = client.read_response();
        EXPECT_EQ(response.status, 200u);
        EXPECT_EQ(response.body, "hello /hello?" + std::to_string(i));
        EXPECT_THAT(response.head, HasSubstr("\r\nDate: "));
        EXPECT_THAT(response.head, ::testing::Not(HasSubstr("Connection:")));
    }
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
    TestServer server;
    RawClient client(server.port());
    std::string all;
    for (int i = 0; i < 200; ++i) {
        std::string body = "body " + std::to_string(i);
        all +=
            make_head("POST", "/echo", {"Content-Length: " + std::to_string(body.size())}) + body;
        all += make_head("POST", "/echo", {"Transfer-Encoding: chunked"}) + "3\r\nabc\r\n0\r\n\r\n";
        all += make_head("GET", "/hello?" + std::to_string(i));
    }
    client.send(all);
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(client.read_response().body, "body " + std::to_string(i));
        ASSERT_EQ(client.read_response().body, "abc");
        ASSERT_EQ(client.read_response().body, "hello /hello?" + std::to_string(i));
    }
}

TEST(Server, TakesARequestByteByByte) {
    TestServer server;
    RawClient client(server.port());
    std::string request = "\r\n\r\n" + make_head("POST", "/echo", {"Transfer-Encoding: chunked"}) +
                          "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: t\r\n\r\n";
    for (char c : request + request)
        client.send(std::string(1, c));
    EXPECT_EQ(client.read_response().body, "abcdefg");
    EXPECT_EQ(client.read_response().body, "abcdefg");
}

TEST(Server, ClosesWhenTheClientAsksForIt) {
    TestServer server;
    for (const char* request : {"GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                                "GET /hello HTTP/1.0\r\n\r\n"}) {
        RawClient client(server.port());
        client.send(request);
        auto response = client.read_response();
        EXPECT_EQ(response.status, 200u);
        EXPECT_TRUE(response.has_header("Connection: close")) << response.head;
        EXPECT_TRUE(client.at_end());
    }
}

TEST(Server, KeepsAnHttp10ConnectionThatAsksForIt) {
    TestServer server;
    RawClient client(server.port());
    for (int i = 0; i < 2; ++i) {
        client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        EXPECT_TRUE(client.read_response().has_header("Connection: keep-alive"));
    }
}

TEST(Server, AnswersHeadLikeGetWithoutTheBody) {
    TestServer server;
    RawClient client(server.port());
    client.send(make_head("HEAD", "/hello"));
    auto response = client.read_response(true);
    EXPECT_EQ(response.status, 200u);
    EXPECT_TRUE(response.has_header("Content-Length: 12"));
    client.send(make_head("HEAD", "/nowhere"));
    EXPECT_EQ(client.read_response(true).status, 404u);
    client.send(make_head("GET", "/hello"));
    EXPECT_EQ(client.read_response().body, "hello /hello");
}

TEST(Server, AnswersUnknownPathsAndWrongMethods) {
    TestServer server;
    RawClient client(server.port());
    struct {
        const char* method;
        const char* target;
        unsigned status;
        const char* allow;
    } const table[] = {
        {"GET", "/nowhere", 404, nullptr},    {"GET", "/", 404, nullptr},
        {"GET", "/hello/", 404, nullptr},     {"GET", "/HELLO", 404, nullptr},
        {"GET", "/hello?q", 200, nullptr},    {"GET", "http://h/hello", 200, nullptr},
        {"POST", "/hello", 405, "GET, HEAD"}, {"DELETE", "/echo", 405, "POST"},
        {"HEAD", "/echo", 405, "POST"},       {"get", "/hello", 405, "GET, HEAD"},
        {"OPTIONS", "*", 404, nullptr},       {"CONNECT", "h:80", 404, nullptr},
    };
    for (const auto& row : table) {
        client.send(make_head(row.method, row.target));
        auto response = client.read_response(std::string_view(row.method) == "HEAD");
        EXPECT_EQ(response.status, row.status) << row.method << row.target;
        if (row.allow) {
            EXPECT_TRUE(response.has_header(std::string("Allow: ") + row.allow));
        }
        if (row.status == 404) {
            EXPECT_THAT(response.body, HasSubstr("404 "));
        }
    }
}

TEST(Server, RefusesBadHeadsAndCloses) {
    TestServer server;
    struct {
        const char* text;
        unsigned status;
    } const table[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
         "\r\n0\r\n\r\n",
         400},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\nContent-Length: 3\r\n\r\nabc", 417},
        {"\x16\x03\x01\x02", 400},
        {"  GET / HTTP/1.1\r\n", 400},
    };
    for (const auto& row : table) {
        RawClient client(server.port());
        client.send(row.text);
        auto response = client.read_response();
        EXPECT_EQ(response.status, row.status) << row.text;
        EXPECT_TRUE(response.has_header("Connection: close"));
        client.finish();
        EXPECT_TRUE(client.at_end()) << row.text;
    }
}

TEST(Server, DoesNotServeWhatFollowsABadRequest) {
    TestServer server;
    RawClient client(server.port());
    client.send(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 50\r\n\r\nx" +
        make_head("GET", "/hello"));
    EXPECT_EQ(client.read_response().status, 400u);
    client.finish();
    EXPECT_TRUE(client.at_end());
}

TEST(Server, LimitsTheHeadExactly) {
    ServerOptions options;
    options.max_head_bytes = 1000;
    options.max_line_bytes = 1000;
    TestServer server(options);
    auto head_of = [](std::size_t size) {
        std::size_t rest = make_head("GET", "/hello", {"X: ", "Y: "}).size();
        std::string half((size - rest) / 2, 'x'), other((size - rest + 1) / 2, 'y');
        return make_head("GET", "/hello", {"X: " + half, "Y: " + other});
    };
    {
        RawClient client(server.port());
        ASSERT_EQ(head_of(1000).size(), 1000u);
        client.send(head_of(1000) + head_of(1000));
        EXPECT_EQ(client.read_response().status, 200u);
        EXPECT_EQ(client.read_response().status, 200u);
        client.send(head_of(1001));
        EXPECT_EQ(client.read_response().status, 431u);
    }
    {
        // The end of the head need not come: the limit alone ends it.
        RawClient client(server.port());
        client.send(head_of(5000).substr(0, 1000));
        EXPECT_EQ(client.read_response().status, 431u);
    }
    {
        RawClient client(server.port());
        client.send("GET /" + std::string(1000, 'x'));
        EXPECT_EQ(client.read_response().status, 414u);
    }
}

TEST(Server, TurnsAHandlersExceptionInto500AndGoesOn) {
    TestServer server;
    RawClient client(server.port());
    client.send(make_head("GET", "/throw"));
    auto response = client.read_response();
    EXPECT_EQ(response.status, 500u);
    EXPECT_THAT(response.body, HasSubstr("500 "));
    EXPECT_THAT(response.body, HasSubstr("/throw"));
    EXPECT_THAT(response.body, ::testing::Not(HasSubstr("own trouble")));
    client.send(make_head("GET", "/hello"));
    EXPECT_EQ(client.read_response().status, 200u);
}

TEST(Server, SurvivesAnErrorBodyThatThrows) {
    TestServer server({}, {}, [](const Problem&) -> Response { throw std::runtime_error("oh"); });
    RawClient client(server.port());
    client.send("broken\r\n\r\n");
    EXPECT_EQ(client.read_response().status, 400u);
    RawClient other(server.port());
    other.send(make_head("GET", "/nowhere"));
    EXPECT_EQ(other.read_response().status, 500u);
}

asio::awaitable<Response> inject(Request&) {
    Response response;
    response.headers.add("X-Bad", "a\r\nSet-Cookie: b");
    co_return response;
}

TEST(Server, SendsNoHeaderThatWouldBreakTheHead) {
    TestServer server({}, {{"GET", "/inject", inject}});
    RawClient client(server.port());
    client.send(make_head("GET", "/inject"));
    auto response = client.read_response();
    EXPECT_EQ(response.status, 500u);
    EXPECT_FALSE(response.has_header("Set-Cookie: b"));
}

asio::awaitable<Response> describe(Request& request) {
    std::string text = request.method() + " " + request.path() + " " +
                       (request.has_query() ? *request.head().query : "-") + " " +
                       std::string(request.headers().find("x-THING").value_or("-")) + " " +
                       (request.peer().is_loopback() ? "loopback" : "far") + " " +
                       (request.content_length() ? std::to_string(*request.content_length()) : "-");
    co_return make_response(200, "text/plain", text);
}

TEST(Server, TellsHandlersAboutTheRequest) {
    TestServer server({}, {{"GET", "/describe", describe}, {"POST", "/describe", describe}});
    RawClient client(server.port());
    client.send(make_head("GET", "/describe?a=b", {"X-Thing: thing"}));
    EXPECT_EQ(client.read_response().body, "GET /describe a=b thing loopback -");
    client.send(make_head("POST", "/describe", {"Content-Length: 3"}) + "abc");
    EXPECT_EQ(client.read_response().body, "POST /describe - - loopback 3");
}

asio::awaitable<Response> nothing(Request& request) {
    Response response = make_response(request.method() == "GET" ? 204 : 304, "text/plain", "body");
    response.headers.add("Content-Length", "77");
    co_return response;
}

TEST(Server, SendsNoBodyWhereNoneMayBe) {
    TestServer server({}, {{"GET", "/nothing", nothing}, {"PUT", "/nothing", nothing}});
    RawClient client(server.port());
    client.send(make_head("GET", "/nothing") + make_head("PUT", "/nothing") +
                make_head("GET", "/hello"));
    auto no_content = client.read_response(true);
    EXPECT_EQ(no_content.status, 204u);
    EXPECT_THAT(no_content.head, ::testing::Not(HasSubstr("Content-Length")));
    EXPECT_EQ(client.read_response(true).status, 304u);
    EXPECT_EQ(client.read_response().body, "hello /hello");
}

}  // namespace
}  // namespace kcoral::net
