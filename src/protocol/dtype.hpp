// Dtype: the element types of tensors, and how many bytes a tensor takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kcoral::protocol {

enum class Dtype {
    boolean,
    uint8,
    int8,
    float8_e4m3fn,
    float8_e5m2,
    int16,
    float16,
    bfloat16,
    int32,
    float32,
    int64,
    float64,
};

// The contract's name; `boolean` is "bool".
std::string_view to_string(Dtype dtype);
std::optional<Dtype> dtype_from(std::string_view name);

// Bytes an element.
std::uint64_t item_size(Dtype dtype);

// Product of the shape times the item size; nothing when that is beyond 64 bits. Dimensions are not
// negative. One of zero makes it zero, however large the others are.
std::optional<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::int64_t> shape);

}  // namespace kcoral::protocol
