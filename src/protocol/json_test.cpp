#include "protocol/json.hpp"

#include "protocol/json_writer.hpp"
#include "protocol/testing/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace kcoral::protocol {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using testing::message_of;
using testing::repeat;

TEST(Json, ReadsEveryKindOfValue) {
    struct Row {
        std::string_view text;
        Json value;
    };
    const Row rows[] = {
        {"null", nullptr},
        {" true\r\n\t", true},
        {"false", false},
        {"0", 0},
        {"-0", 0},
        {"-12", -12},
        {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
        {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
        {"0.5", 0.5},
        {"1.0", 1.0},
        {"1e2", 100.0},
        {"-1E+2", -100.0},
        {"-0.0", -0.0},
        {R"("")", ""},
        {R"("a\"\\\/\b\f\n\r\tA")", "a\"\\/\b\f\n\r\tA"},
        {R"("\u0041\u00e9\ud83d\ude00")", "A\xC3\xA9\xF0\x9F\x98\x80"},
        {"\"\xC3\xA9\x7F\"", "\xC3\xA9\x7F"},
        {R"("\u0000")", "\0"s},
        {"[]", JsonArray{}},
        {"[1, [2.5], \"x\"]", JsonArray{1, JsonArray{2.5}, "x"}},
        {"{}", JsonObject{}},
        {R"({"b": 1, "a": {"": null}})", JsonObject{{"b", 1}, {"a", JsonObject{{"", nullptr}}}}},
    };
    for (const Row& row : rows) {
        auto value = parse_json(row.text);
        ASSERT_TRUE(value) << row.text << ": " << message_of(value);
        EXPECT_EQ(*value, row.value) << row.text;
        EXPECT_EQ(value->kind(), row.value.kind()) << row.text;
    }
}

TEST(Json, RefusesWhatIsNotStrictJson) {
    struct Row {
        std::string text;
        std::string_view message;
    };
    const Row rows[] = {
        {"", "line 1, column 1: expected a JSON value, got nothing"},
        {" \n ", "expected a JSON value, got nothing"},
        {"\xEF\xBB\xBF{}", "byte order mark"},
        {"{} x", "line 1, column 4: expected nothing more after the JSON value"},
        {"1 2", "expected nothing more"},
        {"[1,\n 2,]", "line 2, column 4: unexpected ']'"},
        {"{\"a\": 1,}", "unexpected '}'"},
        {"{a: 1}", "unexpected 'a'"},
        {"'a'", "unexpected '''"},
        {"[1", "not complete"},
        {"\"abc", "not complete"},
        {"tru", "not complete"},
        {"trux", "unexpected 't'"},
        {"True", "unexpected 'T'"},
        {"NaN", "unexpected 'N'"},
        {"Infinity", "unexpected 'I'"},
        {"-Infinity", "unexpected 'I'"},
        {"+1", "unexpected '+'"},
        {"01", "expected nothing more"},
        {"1.", "not complete"},
        {"[.5]", "unexpected '.'"},
        {"[1.]", "unexpected ']'"},
        {"[1e]", "unexpected ']'"},
        {"// x\n1", "unexpected '/'"},
        {"\"a\nb\"", "unexpected byte 0x0a"},
        {"\"\\x\"", "unexpected 'x'"},
        {"\"\\u12g4\"", "four hexadecimal digits"},
        {"\"\\ud800\"", "lone surrogate"},
        {"\"\\ud800x\"", "lone surrogate"},
        {"\"\\ud800\\n\"", "lone surrogate"},
        {"\"\\ud800\\ud800\"", "lone surrogate"},
        {"\"\\udc00\"", "lone surrogate"},
        {"{\"\\ud800\": 1}", "lone surrogate"},
        {"\"\xFF\"", "not UTF-8"},
        {"\"\xC0\x80\"", "not UTF-8"},
        {"\"\xED\xA0\x80\"", "not UTF-8"},
        {"1e309", "the number \"1e309\" is beyond the range of a double"},
        {"-1e309", "beyond the range of a double"},
        {"[1.8e308]", "beyond the range of a double"},
        {"1" + repeat("0", 400) + ".0", "beyond the range of a double"},
        {"1e2147483648", "is beyond"},
        {"{\"a\": 1, \"a\": 1}", "the key \"a\" twice"},
        {"[{\"x\": {\"b\": 1, \"c\": 2, \"b\": 3}}]", "the key \"b\" twice"},
        {R"({"a": 1, "\u0061": 2})", "the key \"a\" twice"},
    };
    for (const Row& row : rows) {
        auto value = parse_json(row.text);
        ASSERT_FALSE(value) << row.text;
        EXPECT_EQ(value.error().code, ErrorCode::bad_request);
        EXPECT_THAT(value.error().message, HasSubstr(row.message)) << row.text;
    }
}

TEST(Json, FindsARepeatedKeyAmongMany) {
    std::string text = "{";
    for (int i = 0; i < 1000; ++i)
        text += "\"" + std::to_string(i) + "\":0,";
    EXPECT_TRUE(parse_json(text + "\"1000\":0}"));
    EXPECT_THAT(message_of(parse_json(text + "\"500\":0}")), HasSubstr("the key \"500\" twice"));
}

TEST(Json, BoundsNestingOnBothSides) {
    for (auto [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
        std::string filling = *open == '[' ? "" : "1";
        EXPECT_TRUE(parse_json(repeat(open, 512) + filling + repeat(close, 512)));
        EXPECT_THAT(message_of(parse_json(repeat(open, 513) + filling + repeat(close, 513))),
                    HasSubstr("nest deeper than 512 levels"));
        EXPECT_THAT(message_of(parse_json(repeat(open, 1'000'000))),
                    HasSubstr("nest deeper than 512 levels"));
    }
    EXPECT_TRUE(parse_json("[[]]", {.depth = 2}));
    EXPECT_FALSE(parse_json("[[[]]]", {.depth = 2}));
}

TEST(Json, BoundsTheNumberOfValuesOnBothSides) {
    EXPECT_TRUE(parse_json("[1,{\"a\":2}]", {.values = 4}));
    EXPECT_THAT(message_of(parse_json("[1,{\"a\":2}]", {.values = 3})),
                HasSubstr("too many values"));
}

TEST(Json, KeepsIntegersOfAnySizeExact) {
    for (std::string digits : {"18446744073709551616"s, "-9223372036854775809"s,
                               "1" + repeat("0", 400), "-" + repeat("7", 5000)}) {
        auto value = parse_json(digits);
        ASSERT_TRUE(value) << message_of(value);
        ASSERT_TRUE(value->integer());
        EXPECT_EQ(value->integer()->decimal(), digits);
        EXPECT_EQ(to_text(*value), digits);
    }
}

TEST(Json, ReadsTheNearestDouble) {
    // Each is a hard case for a reader that rounds twice or gives up digits.
    for (const char* text :
         {"2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308",
          "1.7976931348623158e308", "5e-324", "4.9406564584124654e-324", "9007199254740993.0",
          "0.1000000000000000055511151231257827021181583404541015625", "6.0221409e+23",
          "1.00000000000000011102230246251565404236316680908203125",
          "123456789012345678901234567890.0", "0.3", "8.5e-3", "7.2057594037927933e16",
          "9214843084008499.0"}) {
        auto value = parse_json(text);
        ASSERT_TRUE(value) << text << message_of(value);
        EXPECT_EQ(*value->number(), std::strtod(text, nullptr)) << text;
    }
    std::string tiny = "0." + repeat("0", 400) + "1";
    for (std::string text : {"1e-400"s, "1e-2000000000"s, "0e2000000000"s, tiny, "0.0e999"s}) {
        auto value = parse_json(text);
        ASSERT_TRUE(value) << text << message_of(value);
        EXPECT_EQ(*value->number(), 0.0) << text;
        EXPECT_TRUE(std::signbit(*parse_json("-" + text)->number())) << text;
    }
    EXPECT_EQ(*parse_json(tiny + "e401")->number(), 1.0);
    EXPECT_EQ(*parse_json("1" + repeat("0", 400) + "e-400")->number(), 1.0);
}

TEST(Json, WritesCompactTextThatReadsBackTheSame) {
    struct Row {
        Json value;
        std::string_view text;
    };
    const Row rows[] = {
        {nullptr, "null"},
        {true, "true"},
        {-7, "-7"},
        {0.1, "0.1"},
        {1.0, "1.0"},
        {-0.0, "-0.0"},
        {1e22, "1e+22"},
        {1e-7, "1e-07"},
        {5e-324, "5e-324"},
        {"a\"\\\n\r\t\x01/\xC3\xA9", "\"a\\\"\\\\\\n\\r\\t\\u0001/\xC3\xA9\""},
        {JsonArray{}, "[]"},
        {JsonArray{1, JsonArray{}, JsonObject{}, "x"}, R"([1,[],{},"x"])"},
        {JsonObject{{"b", 1}, {"a", JsonObject{{"c", JsonArray{2, 3}}}}, {"d", nullptr}},
         R"({"b":1,"a":{"c":[2,3]},"d":null})"},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(to_text(row.value), row.text);
        auto again = parse_json(row.text);
        ASSERT_TRUE(again) << message_of(again);
        EXPECT_EQ(*again, row.value) << row.text;
    }
}

TEST(Json, WritesNoNumberThatJsonLacks) {
    JsonWriter writer;
    EXPECT_THROW(writer.number(std::nan("")), std::invalid_argument);
    EXPECT_THROW(writer.number(std::numeric_limits<double>::infinity()), std::invalid_argument);
}

TEST(Json, FindsMembersByNameAndKeepsTheirOrder) {
    JsonObject object{{"z", 1}, {"a", 2}};
    object.add("m", 3);
    EXPECT_EQ(*object.find("a"), Json(2));
    EXPECT_EQ(object.find("b"), nullptr);
    EXPECT_EQ(to_text(object), R"({"z":1,"a":2,"m":3})");
}

}  // namespace
}  // namespace kcoral::protocol
