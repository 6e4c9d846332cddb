// The input of a connection.
#include "net/input_buffer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace kcoral::net {
namespace {

void add(InputBuffer& buffer, std::string_view text, std::size_t capacity) {
    auto room = buffer.room(capacity);
    ASSERT_GE(room.size(), text.size());
    std::memcpy(room.data(), text.data(), text.size());
    buffer.filled(text.size());
}

TEST(InputBuffer, KeepsItsBytesWhileItGrowsAndMoves) {
    InputBuffer buffer;
    std::string expected;
    std::size_t consumed = 0;
    for (int i = 0; i < 500; ++i) {
        std::string text = std::to_string(i) + ",";
        expected += text;
        add(buffer, text, 64 + static_cast<std::size_t>(i) * 4);
        std::size_t take = buffer.size() > 40 ? buffer.size() - 20 : 1;
        ASSERT_EQ(as_text(buffer.bytes()), std::string_view(expected).substr(consumed));
        buffer.consume(take);
        consumed += take;
    }
}

TEST(InputBuffer, HasRoomAsLongAsItHoldsLessThanTheCapacity) {
    InputBuffer buffer;
    for (std::size_t have = 0; have < 100; ++have) {
        ASSERT_FALSE(buffer.room(100).empty()) << have;
        buffer.room(100).front() = std::byte{1};
        buffer.filled(1);
    }
    EXPECT_EQ(buffer.size(), 100u);
    EXPECT_FALSE(buffer.room(101).empty());
}

TEST(InputBuffer, ShrinksOnlyWhenEmpty) {
    InputBuffer buffer;
    add(buffer, "x", 1 << 20);
    buffer.shrink();
    EXPECT_EQ(as_text(buffer.bytes()), "x");
    buffer.consume(1);
    buffer.shrink();
    EXPECT_EQ(buffer.room(100).size(), 100u);
}

}  // namespace
}  // namespace kcoral::net
