#include "protocol/dtype.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kcoral::protocol {
namespace {

TEST(Dtype, HasTheContractsNamesAndSizes) {
    struct Row {
        std::string_view name;
        std::uint64_t size;
    };
    for (auto [name, size] :
         {Row{"bool", 1}, Row{"uint8", 1}, Row{"int8", 1}, Row{"float8_e4m3fn", 1},
          Row{"float8_e5m2", 1}, Row{"int16", 2}, Row{"float16", 2}, Row{"bfloat16", 2},
          Row{"int32", 4}, Row{"float32", 4}, Row{"int64", 8}, Row{"float64", 8}}) {
        auto dtype = dtype_from(name);
        ASSERT_TRUE(dtype) << name;
        EXPECT_EQ(to_string(*dtype), name);
        EXPECT_EQ(item_size(*dtype), size) << name;
    }
    for (std::string_view name : {"", "boolean", "uint16", "complex64", "Float32", "float"})
        EXPECT_FALSE(dtype_from(name)) << name;
}

TEST(Dtype, SizesTensorsWithoutOverflow) {
    constexpr auto huge = std::numeric_limits<std::int64_t>::max();
    struct Row {
        std::vector<std::int64_t> shape;
        std::optional<std::uint64_t> bytes;
    };
    for (const Row& row : {
             Row{{}, 4},
             Row{{0}, 0},
             Row{{3, 5}, 60},
             Row{{std::int64_t{1} << 61}, std::uint64_t{1} << 63},
             Row{{std::int64_t{1} << 62}, std::nullopt},
             Row{{huge, huge}, std::nullopt},
             Row{{huge, huge, 0}, 0},
         })
        EXPECT_EQ(tensor_bytes(Dtype::float32, row.shape), row.bytes);
}

}  // namespace
}  // namespace kcoral::protocol
