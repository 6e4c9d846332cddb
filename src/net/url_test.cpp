// URLs of servers.
#include "net/url.hpp"

#include <gtest/gtest.h>

namespace kcoral::net {
namespace {

struct Good {
    const char* text;
    Url url;
    const char* authority;
};

TEST(Url, ReadsSchemeHostPortAndPrefix) {
    const Good table[] = {
        {"http://host", {false, "host", 80, ""}, "host"},
        {"http://host/", {false, "host", 80, ""}, "host"},
        {"HTTP://host:8000", {false, "host", 8000, ""}, "host:8000"},
        {"https://host", {true, "host", 443, ""}, "host"},
        {"https://host:80/a/b/", {true, "host", 80, "/a/b"}, "host:80"},
        {"http://127.0.0.1:1", {false, "127.0.0.1", 1, ""}, "127.0.0.1:1"},
        {"http://[::1]:65535/x", {false, "::1", 65535, "/x"}, "[::1]:65535"},
        {"http://[2001:db8::1]", {false, "2001:db8::1", 80, ""}, "[2001:db8::1]"},
    };
    for (const Good& good : table) {
        auto url = Url::parse(good.text);
        ASSERT_TRUE(url) << good.text << ": " << url.error().message;
        EXPECT_EQ(*url, good.url) << good.text;
        EXPECT_EQ(url->authority(), good.authority);
        auto again = Url::parse(url->to_string());
        ASSERT_TRUE(again) << url->to_string();
        EXPECT_EQ(*again, *url);
    }
}

TEST(Url, RefusesWhatItWouldMisread) {
    for (const char* text : {"",
                             "host",
                             "host:80",
                             "ftp://host",
                             "http://",
                             "http:///path",
                             "http://host:",
                             "http://host:0",
                             "http://host:65536",
                             "http://host:12x",
                             "http://host:-1",
                             "http://user@host",
                             "http://host?x",
                             "http://host/#y",
                             "http://[::1",
                             "http://[::1]x",
                             "http://[nonsense]",
                             "http://[]",
                             "http://a b",
                             "http://host/a b",
                             "http://::1",
                             "http://host/\r\nX: y"}) {
        auto url = Url::parse(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error().code, ErrorCode::bad_request);
    }
}

}  // namespace
}  // namespace kcoral::net
