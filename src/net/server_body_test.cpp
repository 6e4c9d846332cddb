// Bodies through the HTTP server, both ways: framing, limits, `100 Continue`, early answers.
#include "net/testing/raw_client.hpp"
#include "net/testing/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace kcoral::net {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;

std::string length_header(std::size_t length) {
    return "Content-Length: " + std::to_string(length);
}

std::string chunk(std::string_view data) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    return size + std::string(data) + "\r\n";
}

// Text in which every part is different from every other.
std::string pattern(std::size_t size) {
    std::string text;
    text.reserve(size + 16);
    for (std::size_t i = 0; text.size() < size; ++i)
        text += std::to_string(i * 7919) + " ";
    text.resize(size);
    return text;
}

TEST(Bodies, ComeWholeWhateverTheirSize) {
    TestServer server;
    RawClient client(server.port());
    for (std::size_t size : {0ul, 1ul, 4095ul, 4096ul, 16384ul, 16385ul, 300000ul, 20000000ul}) {
        std::string body = pattern(size);
        client.send(make_head("POST", "/echo", {length_header(size)}));
        client.send(body);
        EXPECT_TRUE(client.read_response().body == body) << size;
        client.send(make_head("POST", "/echo", {"Transfer-Encoding: chunked"}));
        for (std::size_t at = 0, step = 1; at < size; at += step, step = step * 3 + 1)
            client.send(chunk(std::string_view(body).substr(at, step)));
        client.send("0\r\n\r\n");
        EXPECT_TRUE(client.read_response().body == body) << size;
    }
}

TEST(Bodies, AreLimitedExactlyByTheirLength) {
    ServerOptions options;
    options.max_body_bytes = 5000;
    TestServer server(options);
    RawClient client(server.port());
    client.send(make_head("POST", "/count", {length_header(5000)}) + pattern(5000));
    EXPECT_EQ(client.read_response().body, "5000");
    // Refused at once: the body never comes.
    client.send(make_head("POST", "/count", {length_header(5001)}));
    auto response = client.read_response();
    EXPECT_EQ(response.status, 413u);
    EXPECT_EQ(response.body, "too_large after 0");
}

TEST(Bodies, OfChunksAreLimitedExactlyWhileTheyCome) {
    ServerOptions options;
    options.max_body_bytes = 5000;
    TestServer server(options);
    RawClient client(server.port());
    std::string head = make_head("POST", "/count", {"Transfer-Encoding: chunked"});
    client.send(head + chunk(pattern(2000)) + chunk(pattern(3000)) + "0\r\n\r\n");
    EXPECT_EQ(client.read_response().body, "5000");
    // The end never comes.
    client.send(head + chunk(pattern(2000)) + chunk(pattern(3000)));
    client.send("1\r\nx");
    auto response = client.read_response();
    EXPECT_EQ(response.status, 413u);
    EXPECT_TRUE(response.has_header("Connection: close"));
}

TEST(Bodies, WithBrokenChunksAreBadRequests) {
    TestServer server;
    for (const char* body : {"x\r\nabc", "3\r\nabcdefg\r\n", "3\nabc\r\n0\r\n\r\n"}) {
        RawClient client(server.port());
        client.send(make_head("POST", "/count", {"Transfer-Encoding: chunked"}) + body);
        EXPECT_EQ(client.read_response().status, 400u) << body;
        client.finish();
        EXPECT_TRUE(client.at_end());
    }
    RawClient client(server.port());
    client.send(make_head("POST", "/count", {"Transfer-Encoding: chunked"}) + "3;" +
                std::string(40'000, 'x'));
    EXPECT_EQ(client.read_response().status, 400u);
}

TEST(Bodies, ThatEndEarlyAreNotTakenForWhole) {
    TestServer server;
    RawClient client(server.port());
    client.send(make_head("POST", "/count", {length_header(10)}) + "12345");
    client.finish();
    auto response = client.read_response();
    EXPECT_EQ(response.status, 400u);
    EXPECT_EQ(response.body, "closed after 5");
}

TEST(Continue, IsSentWhenTheBodyIsFirstRead) {
    TestServer server;
    RawClient client(server.port());
    for (int i = 0; i < 2; ++i) {
        client.send(make_head("POST", "/echo", {length_header(3), "Expect: 100-Continue"}));
        EXPECT_EQ(client.read_response().status, 100u);
        client.send("abc");
        EXPECT_EQ(client.read_response().body, "abc");
    }
}

TEST(Continue, IsNotSentByAHandlerThatDoesNotRead) {
    TestServer server;
    RawClient client(server.port());
    client.send(make_head("POST", "/ignore", {length_header(3), "Expect: 100-continue"}));
    auto response = client.read_response();
    EXPECT_EQ(response.status, 200u);
    EXPECT_TRUE(response.has_header("Connection: close"));
    client.finish();
    EXPECT_TRUE(client.at_end());
}

TEST(Continue, IsNotSentForABodyThatIsTooLarge) {
    ServerOptions options;
    options.max_body_bytes = 10;
    TestServer server(options);
    RawClient client(server.port());
    client.send(make_head("POST", "/count", {length_header(11), "Expect: 100-continue"}));
    EXPECT_EQ(client.read_response().status, 413u);
}

TEST(Continue, IsNotSentWithoutNeed) {
    TestServer server;
    RawClient client(server.port());
    client.send(make_head("POST", "/echo", {length_header(3), "Expect: 100-continue"}) + "abc");
    EXPECT_EQ(client.read_response().body, "abc");
    client.send(make_head("POST", "/echo", {length_header(0), "Expect: 100-continue"}));
    EXPECT_EQ(client.read_response().status, 200u);
    client.send("POST /echo HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    client.send("abc");
    EXPECT_EQ(client.read_response().body, "abc");
}

TEST(EarlyAnswer, KeepsTheConnectionWhenLittleIsUnread) {
    ServerOptions options;
    options.max_drain_bytes = 1000;
    TestServer server(options);
    RawClient client(server.port());
    client.send(make_head("POST", "/ignore", {length_header(1000)}) + pattern(1000));
    EXPECT_EQ(client.read_response().body, "ignored");
    client.send(make_head("POST", "/ignore", {"Transfer-Encoding: chunked"}) +
                chunk(pattern(1000)) + "0\r\n\r\n");
    EXPECT_EQ(client.read_response().body, "ignored");
    client.send(make_head("POST", "/ignore", {length_header(1001)}) + pattern(1001));
    auto response = client.read_response();
    EXPECT_EQ(response.body, "ignored");
    EXPECT_TRUE(response.has_header("Connection: close"));
    client.finish();
    EXPECT_TRUE(client.at_end());
}

TEST(EarlyAnswer, ReachesAClientThatSendsOnAndOn) {
    TestServer server;
    RawClient client(server.port());
    constexpr std::size_t size = 30'000'000;
    client.send(make_head("POST", "/ignore", {length_header(size)}));
    client.send(pattern(size));  // all of it, before the answer is looked at
    auto response = client.read_response();
    EXPECT_EQ(response.body, "ignored");
    EXPECT_TRUE(response.has_header("Connection: close"));
    client.finish();
    EXPECT_TRUE(client.at_end());
}

TEST(EarlyAnswer, ClosesOnAChunkedBodyThatGoesOn) {
    ServerOptions options;
    options.max_drain_bytes = 1000;
    TestServer server(options);
    RawClient client(server.port());
    client.send(make_head("POST", "/ignore", {"Transfer-Encoding: chunked"}) +
                chunk(pattern(1001)));
    EXPECT_EQ(client.read_response().body, "ignored");
    client.finish();
    EXPECT_TRUE(client.at_end());
}

TEST(EarlyAnswer, IsNotWaitedForLongerThanTheLingerTimeout) {
    ServerOptions options;
    options.linger_timeout = std::chrono::milliseconds(50);
    TestServer server(options);
    RawClient client(server.port());
    client.send(make_head("POST", "/ignore", {length_header(1'000'000'000)}));
    EXPECT_EQ(client.read_response().body, "ignored");
    EXPECT_TRUE(client.at_end());  // although we neither send the body nor close
}

std::shared_ptr<const Fd> file_of(std::string_view text) {
    auto file = make_memory_file("test");
    if (!file || !write_all(*file, as_bytes(text))) throw std::runtime_error("no memory file");
    return std::make_shared<const Fd>(std::move(*file));
}

struct PiecesHandler {
    std::shared_ptr<const Fd> file;
    std::shared_ptr<const std::string> shared;

    static asio::awaitable<Response> answer(const PiecesHandler* self) {
        Response response;
        response.body.emplace_back("start,");
        response.body.emplace_back(SharedBytes(self->shared));
        response.body.emplace_back(FileRange{self->file, 3, 5'000'000});
        response.body.emplace_back("");
        response.body.emplace_back(FileRange{self->file, 7, 0});
        for (int i = 0; i < 100; ++i)
            response.body.emplace_back("," + std::to_string(i));
        response.body.emplace_back(FileRange{self->file, 0, 1});
        co_return response;
    }
    asio::awaitable<Response> operator()(Request&) const { return answer(this); }
};

TEST(Answers, AreMadeOfPiecesOfEveryKind) {
    std::string content = pattern(6'000'000);
    PiecesHandler handler{file_of(content),
                          std::make_shared<const std::string>(pattern(3'000'000))};
    TestServer server({}, {{"GET", "/pieces", handler}});
    std::string expected = "start," + *handler.shared + content.substr(3, 5'000'000);
    for (int i = 0; i < 100; ++i)
        expected += "," + std::to_string(i);
    expected += content.substr(0, 1);
    RawClient client(server.port());
    for (int i = 0; i < 2; ++i) {
        client.send(make_head("GET", "/pieces"));
        auto response = client.read_response();
        EXPECT_TRUE(response.has_header(length_header(expected.size())));
        EXPECT_TRUE(response.body == expected);
    }
    client.send(make_head("HEAD", "/pieces") + make_head("GET", "/hello"));
    EXPECT_TRUE(client.read_response(true).has_header(length_header(expected.size())));
    EXPECT_EQ(client.read_response().status, 200u);
}

TEST(Answers, WithAFileThatIsTooShortBreakTheConnection) {
    PiecesHandler handler{file_of("short"), std::make_shared<const std::string>("x")};
    TestServer server({}, {{"GET", "/pieces", handler}});
    RawClient client(server.port());
    client.send(make_head("GET", "/pieces"));
    EXPECT_THROW(client.read_response(), std::runtime_error);
    RawClient other(server.port());
    other.send(make_head("GET", "/hello"));
    EXPECT_EQ(other.read_response().status, 200u);
}

// Gives "0,", "1,", ... up to a count, or an error in place of the last.
class Counter final : public BodyStream {
  public:
    Counter(int count, bool fails) : count_(count), fails_(fails) {}
    asio::awaitable<Result<Pieces>> next() override {
        Pieces pieces;
        if (fails_ && next_ == count_) co_return failure(ErrorCode::internal, "broken");
        if (next_ < count_) pieces.emplace_back(std::to_string(next_++) + ",");
        if (next_ == 2) pieces.emplace_back("");  // pieces may be empty
        co_return pieces;
    }

  private:
    int next_ = 0;
    int count_;
    bool fails_;
};

asio::awaitable<Response> stream(Request& request) {
    Response response;
    response.body.emplace_back("first,");
    response.stream = std::make_unique<Counter>(5, request.has_query());
    co_return response;
}

TEST(Answers, OfUnknownLengthAreChunked) {
    TestServer server({}, {{"GET", "/stream", stream}});
    RawClient client(server.port());
    client.send(make_head("GET", "/stream") + make_head("HEAD", "/stream") +
                make_head("GET", "/hello"));
    EXPECT_EQ(client.read_response().body, "first,0,1,2,3,4,");
    EXPECT_TRUE(client.read_response(true).has_header("Transfer-Encoding: chunked"));
    EXPECT_EQ(client.read_response().body, "hello /hello");
}

TEST(Answers, OfUnknownLengthEndWithTheConnectionInHttp10) {
    TestServer server({}, {{"GET", "/stream", stream}});
    RawClient client(server.port());
    client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    std::string answer = client.read_to_end();
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\nfirst,0,1,2,3,4,")) << answer;
}

TEST(Answers, WhoseStreamFailsAreSeenAsIncomplete) {
    TestServer server({}, {{"GET", "/stream", stream}});
    RawClient client(server.port());
    client.send(make_head("GET", "/stream?fail"));
    std::string answer = client.read_to_end();
    EXPECT_THAT(answer, HasSubstr("4,"));
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n"));
}

}  // namespace
}  // namespace kcoral::net
