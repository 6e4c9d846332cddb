#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace kcoral {
namespace {

using namespace std::chrono;

TEST(Rfc3339, KeepsMicrosecondsAndPadsThem) {
    EXPECT_EQ(to_rfc3339(WallTime{}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(to_rfc3339(WallTime{seconds(951782400) + microseconds(7)}),
              "2000-02-29T00:00:00.000007Z");
}

TEST(Rfc3339, TimesBeforeTheEpochKeepAPositiveFraction) {
    EXPECT_EQ(to_rfc3339(WallTime{microseconds(-1)}), "1969-12-31T23:59:59.999999Z");
}

TEST(Durations, ConvertToAndFromTheUnitsOfTheProtocol) {
    EXPECT_DOUBLE_EQ(to_milliseconds(milliseconds(1500)), 1500.0);
    EXPECT_EQ(from_seconds(0.25), milliseconds(250));
}

}  // namespace
}  // namespace kcoral
