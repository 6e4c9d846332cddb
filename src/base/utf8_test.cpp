#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace kcoral {
namespace {

struct Case {
    std::string bytes;
    std::string replaced;  // as Python's decode("utf-8", "replace") gives it
};

const Case ill_formed[] = {
    {"\xff", "\uFFFD"},
    {"a\x80z", "a\uFFFDz"},
    {"\xc0\xaf", "\uFFFD\uFFFD"},
    {"\xe2\x82", "\uFFFD"},
    {"\xe2\x82z", "\uFFFDz"},
    {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
    {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"\xf0\x9f\x98", "\uFFFD"},
    {"\xe0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
};

TEST(Utf8, IllFormedSequencesAreSeenAndReplacedByMaximalSubparts) {
    for (const Case& c : ill_formed) {
        EXPECT_FALSE(is_utf8(c.bytes)) << testing::PrintToString(c.bytes);
        EXPECT_EQ(to_utf8(c.bytes), c.replaced) << testing::PrintToString(c.bytes);
    }
}

TEST(Utf8, WellFormedTextStaysAsItIs) {
    for (std::string text : {std::string(), std::string("plain"), std::string("h\u00e9llo \u20ac"),
                             std::string("\xf0\x9f\x98\x80"), std::string("\xf4\x8f\xbf\xbf"),
                             std::string("a\0b", 3)}) {
        EXPECT_TRUE(is_utf8(text));
        EXPECT_EQ(to_utf8(text), text);
    }
}

}  // namespace
}  // namespace kcoral
