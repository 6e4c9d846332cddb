#include "base/uuid.hpp"

#include <gtest/gtest.h>

namespace kcoral {
namespace {

TEST(Uuid, NewOnesAreCanonicalAndDiffer) {
    std::string one = make_uuid();
    EXPECT_TRUE(is_canonical_uuid(one)) << one;
    EXPECT_NE(one, make_uuid());
}

TEST(Uuid, OtherFormsAreNotCanonical) {
    EXPECT_TRUE(is_canonical_uuid("00000000-0000-0000-0000-000000000000"));
    for (const char* text :
         {"", "00000000000000000000000000000000", "00000000-0000-0000-0000-00000000000",
          "0000000A-0000-0000-0000-000000000000", "{0000000-0000-0000-0000-00000000000}",
          "0000000000-00-0000-0000-000000000000", "00000000-0000-0000-0000-0000000000000"})
        EXPECT_FALSE(is_canonical_uuid(text)) << text;
}

}  // namespace
}  // namespace kcoral
