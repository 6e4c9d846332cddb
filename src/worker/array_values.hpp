// ArrayValue: the bytes of a NumPy array or torch tensor, contiguous, little-endian, on the host.
//
// Neither library is imported or linked: objects of theirs exist only where a program or a preload
// has imported it. Needs the GIL.
#pragma once

#include "base/bytes.hpp"
#include "protocol/dtype.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace kcoral::worker {

// Holds the object that owns the bytes.
struct ArrayValue {
    protocol::Dtype dtype{};
    std::vector<std::int64_t> shape;
    nanobind::object owner;
    const std::byte* data = nullptr;
    std::size_t size = 0;

    ByteView bytes() const { return {data, size}; }
};

// Nothing when the object is no array or tensor; throws InstructionFailed (`serialization`) when it
// is one that cannot be returned.
std::optional<ArrayValue> describe_array(nanobind::handle object);

// A NumPy scalar as bool, int or float; invalid for another object.
nanobind::object plain_scalar(nanobind::handle object);

}  // namespace kcoral::worker
