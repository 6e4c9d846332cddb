// The table of element types.
#include "protocol/dtype.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace kcoral::protocol {
namespace {

struct Row {
    Dtype dtype;
    std::string_view name;
    std::uint64_t item_size;
};

// In the order of the enumeration.
constexpr auto table = std::to_array<Row>({
    {Dtype::boolean, "bool", 1},
    {Dtype::uint8, "uint8", 1},
    {Dtype::int8, "int8", 1},
    {Dtype::float8_e4m3fn, "float8_e4m3fn", 1},
    {Dtype::float8_e5m2, "float8_e5m2", 1},
    {Dtype::int16, "int16", 2},
    {Dtype::float16, "float16", 2},
    {Dtype::bfloat16, "bfloat16", 2},
    {Dtype::int32, "int32", 4},
    {Dtype::float32, "float32", 4},
    {Dtype::int64, "int64", 8},
    {Dtype::float64, "float64", 8},
});

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].dtype != static_cast<Dtype>(i)) return false;
    return true;
}
static_assert(in_order());

const Row& row(Dtype dtype) {
    return table.at(static_cast<std::size_t>(dtype));
}

}  // namespace

std::string_view to_string(Dtype dtype) {
    return row(dtype).name;
}

std::optional<Dtype> dtype_from(std::string_view name) {
    auto found = std::ranges::find(table, name, &Row::name);
    if (found == table.end()) return std::nullopt;
    return found->dtype;
}

std::uint64_t item_size(Dtype dtype) {
    return row(dtype).item_size;
}

std::optional<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    std::uint64_t bytes = item_size(dtype);
    for (std::int64_t dimension : shape)
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dimension), &bytes))
            return std::nullopt;
    return bytes;
}

}  // namespace kcoral::protocol
