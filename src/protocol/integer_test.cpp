#include "protocol/integer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kcoral::protocol {
namespace {

TEST(Integer, KeepsEveryDigitOfAnyDecimal) {
    for (std::string text :
         {std::string("0"), std::string("-1"), std::string("9223372036854775807"),
          std::string("9223372036854775808"), std::string("-9223372036854775808"),
          std::string("-9223372036854775809"), std::string("18446744073709551615"),
          "1" + std::string(400, '0'), "-7" + std::string(400, '3')}) {
        auto integer = Integer::from_decimal(text);
        ASSERT_TRUE(integer) << text;
        EXPECT_EQ(integer->decimal(), text);
        EXPECT_EQ(integer->negative(), text.starts_with('-')) << text;
        EXPECT_EQ(*integer, *Integer::from_decimal(text));
    }
}

TEST(Integer, TakesOnlyTheTextJsonWritesForIntegers) {
    for (std::string_view text :
         {"", "-", "+1", "01", "-01", "1.0", "1e3", " 1", "1 ", "0x1", "--1"})
        EXPECT_FALSE(Integer::from_decimal(text)) << text;
    EXPECT_EQ(Integer::from_decimal("-0"), Integer(0));
}

TEST(Integer, ConvertsOnlyToTypesThatHoldIt) {
    EXPECT_EQ(Integer::from_decimal("9223372036854775807")->to_int64(),
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(Integer::from_decimal("9223372036854775808")->to_int64(), std::nullopt);
    EXPECT_EQ(Integer::from_decimal("-9223372036854775808")->to_int64(),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(Integer::from_decimal("-9223372036854775809")->to_int64(), std::nullopt);
    EXPECT_EQ(Integer::from_decimal("18446744073709551615")->to_uint64(),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(Integer::from_decimal("18446744073709551616")->to_uint64(), std::nullopt);
    EXPECT_EQ(Integer(-1).to_uint64(), std::nullopt);
    EXPECT_EQ(Integer(std::numeric_limits<std::uint64_t>::max()).decimal(), "18446744073709551615");
    EXPECT_EQ(Integer(std::uint64_t{9223372036854775807u}), Integer(9223372036854775807));
}

TEST(Integer, BecomesTheNearestDoubleOrInfinity) {
    EXPECT_EQ(Integer(-3).to_double(), -3.0);
    EXPECT_EQ(Integer::from_decimal("1" + std::string(22, '0'))->to_double(), 1e22);
    EXPECT_TRUE(std::isinf(Integer::from_decimal("1" + std::string(400, '0'))->to_double()));
    EXPECT_EQ(Integer::from_decimal("-1" + std::string(400, '0'))->to_double(),
              -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace kcoral::protocol
