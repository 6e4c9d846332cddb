// Header fields and body pieces.
#include "net/http_message.hpp"

#include <gtest/gtest.h>

namespace kcoral::net {
namespace {

TEST(Headers, AreFoundWhateverTheirCase) {
    Headers headers{{"Content-Type", "a"}, {"X-Many", "1"}, {"x-many", "2"}};
    EXPECT_EQ(headers.find("content-type"), "a");
    EXPECT_EQ(headers.find("X-MANY"), "1");
    EXPECT_EQ(headers.all("x-Many"), (std::vector<std::string_view>{"1", "2"}));
    EXPECT_EQ(headers.count("x-many"), 2u);
    EXPECT_FALSE(headers.find("X-Man"));
    EXPECT_TRUE(headers.all("none").empty());
}

TEST(Headers, SettingReplacesEveryFieldOfTheName) {
    Headers headers{{"A", "1"}, {"a", "2"}, {"B", "3"}};
    headers.set("A", "4");
    EXPECT_EQ(headers.all("a"), (std::vector<std::string_view>{"4"}));
    EXPECT_EQ(headers.size(), 2u);
}

TEST(Headers, ListsAreSplitAtCommasOverAllFields) {
    Headers headers{{"Connection", "Upgrade , close"}, {"Connection", "x"}, {"Empty", ""}};
    EXPECT_TRUE(headers.lists("connection", "CLOSE"));
    EXPECT_TRUE(headers.lists("connection", "upgrade"));
    EXPECT_TRUE(headers.lists("connection", "x"));
    EXPECT_FALSE(headers.lists("connection", "clos"));
    EXPECT_FALSE(headers.lists("empty", "x"));
}

TEST(Pieces, AddUpTheirSizes) {
    Pieces pieces;
    EXPECT_EQ(size_of(pieces), 0u);
    pieces.emplace_back("abc");
    pieces.emplace_back(SharedBytes(std::make_shared<const std::string>("defg")));
    pieces.emplace_back(FileRange{nullptr, 10, 1000});
    EXPECT_EQ(size_of(pieces), 1007u);
}

TEST(Peer, KnowsLoopbackAddressesInAllTheirForms) {
    struct {
        const char* address;
        bool is_loopback;
    } const table[] = {{"127.0.0.1", true},        {"127.9.9.9", true}, {"::1", true},
                       {"::ffff:127.0.0.1", true}, {"10.0.0.1", false}, {"::ffff:10.0.0.1", false},
                       {"2001:db8::1", false}};
    for (const auto& row : table) {
        Peer peer{boost::asio::ip::make_address(row.address), 1};
        EXPECT_EQ(peer.is_loopback(), row.is_loopback) << row.address;
    }
    EXPECT_EQ((Peer{boost::asio::ip::make_address("::1"), 80}).to_string(), "[::1]:80");
    EXPECT_EQ((Peer{boost::asio::ip::make_address("1.2.3.4"), 80}).to_string(), "1.2.3.4:80");
}

}  // namespace
}  // namespace kcoral::net
