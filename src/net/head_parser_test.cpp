// Heads of messages: what is read, what is refused and with which status.
#include "net/head_parser.hpp"

#include <gtest/gtest.h>

namespace kcoral::net {
namespace {

constexpr HeadLimits limits{.max_line_bytes = 100, .max_header_count = 5};

RequestHead parsed(std::string_view text) {
    auto head = parse_request_head(text, limits);
    EXPECT_TRUE(head) << text << (head ? "" : head.error().message);
    return head ? std::move(*head) : RequestHead{};
}

TEST(RequestHead, IsReadWhole) {
    auto head =
        parsed("POST /a/b?c=d?e HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nX: y \r\n\r\n");
    EXPECT_EQ(head.method, "POST");
    EXPECT_EQ(head.target, "/a/b?c=d?e");
    EXPECT_EQ(head.path, "/a/b");
    EXPECT_EQ(head.query, "c=d?e");
    EXPECT_EQ(head.content_length, 12u);
    EXPECT_FALSE(head.chunked);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_FALSE(head.http_1_0);
    EXPECT_EQ(head.headers.find("x"), "y");
}

TEST(RequestHead, TellsTargetsApart) {
    EXPECT_FALSE(parsed("GET /a HTTP/1.1\r\nHost: h\r\n\r\n").query);
    EXPECT_EQ(parsed("GET /a? HTTP/1.1\r\nHost: h\r\n\r\n").query, "");
    EXPECT_EQ(parsed("GET http://h:80/a?b HTTP/1.1\r\nHost: h\r\n\r\n").path, "/a");
    EXPECT_EQ(parsed("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").path, "/");
    EXPECT_EQ(parsed("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n").query, "q");
    EXPECT_EQ(parsed("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").path, "*");
}

TEST(RequestHead, KnowsWhetherTheConnectionIsKept) {
    EXPECT_FALSE(parsed("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").keep_alive);
    EXPECT_FALSE(parsed("GET / HTTP/1.0\r\n\r\n").keep_alive);
    EXPECT_TRUE(parsed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
}

struct Refused {
    const char* why;
    std::string text;
    unsigned status;
};

TEST(RequestHead, RefusesWhatTwoReadersCouldUnderstandDifferently) {
    const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
    const Refused table[] = {
        {"length and encoding", start + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400},
        {"encoding and length", start + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", 400},
        {"two lengths", start + "Content-Length: 1\r\nContent-Length: 2\r\n", 400},
        {"two equal lengths", start + "Content-Length: 1\r\nContent-Length: 1\r\n", 400},
        {"length list", start + "Content-Length: 1, 1\r\n", 400},
        {"signed length", start + "Content-Length: +1\r\n", 400},
        {"negative length", start + "Content-Length: -1\r\n", 400},
        {"hex length", start + "Content-Length: 0x1\r\n", 400},
        {"empty length", start + "Content-Length:\r\n", 400},
        {"huge length", start + "Content-Length: 18446744073709551616\r\n", 400},
        {"two encodings", start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         400},
        {"encoding list", start + "Transfer-Encoding: gzip, chunked\r\n", 501},
        {"chunked not last", start + "Transfer-Encoding: chunked, identity\r\n", 501},
        {"identity", start + "Transfer-Encoding: identity\r\n", 501},
        {"odd chunked",
         start + "Transfer-Encoding: \x0b"
                 "chunked\r\n",
         400},
        {"quoted chunked", start + "Transfer-Encoding: \"chunked\"\r\n", 501},
        {"encoding in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400},
        {"folded line", start + "X: a\r\n b\r\n", 400},
        {"folded by tab", start + "X: a\r\n\tb\r\n", 400},
        {"folded first line", "POST / HTTP/1.1\r\n Host: h\r\n", 400},
        {"space before colon", start + "Content-Length : 1\r\n", 400},
        {"no colon", start + "nonsense\r\n", 400},
        {"empty name", start + ": x\r\n", 400},
        {"name with space", start + "A B: x\r\n", 400},
        {"NUL in value", start + "X: a" + std::string(1, '\0') + "b\r\n", 400},
        {"bare CR", start + "X: a\rY: b\r\n", 400},
        {"bare LF", start + "X: a\nContent-Length: 5\r\n", 400},
        {"no host", "GET / HTTP/1.1\r\n", 400},
        {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400},
        {"HTTP/2", "GET / HTTP/2.0\r\nHost: h\r\n", 505},
        {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h\r\n", 505},
        {"no version", "GET /\r\nHost: h\r\n", 400},
        {"lower-case version", "GET / http/1.1\r\nHost: h\r\n", 400},
        {"space in target", "GET /a b HTTP/1.1\r\nHost: h\r\n", 400},
        {"relative target", "GET a HTTP/1.1\r\nHost: h\r\n", 400},
        {"target of another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n", 400},
        {"control byte in target", "GET /\x01 HTTP/1.1\r\nHost: h\r\n", 400},
        {"no method", " / HTTP/1.1\r\nHost: h\r\n", 400},
        {"tab for space", "GET\t/ HTTP/1.1\r\nHost: h\r\n", 400},
    };
    for (const Refused& row : table) {
        auto head = parse_request_head(row.text + "\r\n", limits);
        ASSERT_FALSE(head) << row.why;
        EXPECT_EQ(head.error().status, row.status) << row.why << ": " << head.error().message;
        EXPECT_FALSE(head.error().message.empty());
    }
}

TEST(RequestHead, LimitsLinesAndHeadersExactly) {
    auto status = [](const std::string& text) {
        auto head = parse_request_head(text, limits);
        return head ? 200u : head.error().status;
    };
    auto with_target = [](std::size_t line) {
        std::string target = "/" + std::string(line - std::string("GET / HTTP/1.1").size(), 'x');
        return "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n";
    };
    EXPECT_EQ(status(with_target(100)), 200u);
    EXPECT_EQ(status(with_target(101)), 414u);
    auto with_header = [](std::size_t line) {
        return "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(line - 3, 'x') + "\r\n\r\n";
    };
    EXPECT_EQ(status(with_header(100)), 200u);
    EXPECT_EQ(status(with_header(101)), 431u);
    auto with_count = [](int count) {
        std::string text = "GET / HTTP/1.1\r\nHost: h\r\n";
        for (int i = 1; i < count; ++i)
            text += "X: y\r\n";
        return text + "\r\n";
    };
    EXPECT_EQ(status(with_count(5)), 200u);
    EXPECT_EQ(status(with_count(6)), 431u);
}

TEST(HeadEnd, IsFoundAcrossEveryBorderOfReads) {
    std::string text = "GET / HTTP/1.1\r\nHost: h\r\n\r\nbody";
    for (std::size_t seen = 0; seen < text.size() - 4; ++seen) {
        EXPECT_FALSE(find_head_end(std::string_view(text).substr(0, seen), 0));
        EXPECT_EQ(find_head_end(text, seen), text.size() - 4) << seen;
    }
}

TEST(ResponseHead, IsReadWhole) {
    auto head = parse_response_head("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nA: b\r\n\r\n", limits);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200u);
    EXPECT_EQ(head->content_length, 3u);
    EXPECT_EQ(head->headers.find("a"), "b");
    EXPECT_TRUE(head->keep_alive);
    auto old = parse_response_head("HTTP/1.0 404 Gone Away\r\n\r\n", limits);
    ASSERT_TRUE(old);
    EXPECT_FALSE(old->keep_alive);
    EXPECT_FALSE(old->content_length);
}

TEST(ResponseHead, RefusesBrokenOnes) {
    for (const char* text :
         {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
          "HTTP/1.1 200 OK\r\nbroken\r\n\r\n"}) {
        auto head = parse_response_head(text, limits);
        ASSERT_FALSE(head) << text;
        EXPECT_EQ(head.error().code, ErrorCode::protocol);
    }
}

}  // namespace
}  // namespace kcoral::net
