// Values: what a return makes of a Python object.
//
// Null, booleans, integers, numbers, strings, lists and tuples, dicts with string keys, bytes and
// their kin, NumPy arrays and scalars, torch tensors of any device; subclasses count. Everything
// else, lone surrogates, NaN and infinities, cycles and nesting past 512 levels are refused with
// `serialization`. Needs the GIL; what fails throws InstructionFailed.
#pragma once

#include "worker/payload.hpp"
#include "worker/value_text.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace kcoral::worker {

// Writes the object's value tree to `text`, which may take `limit` bytes, and its bytes to
// `payload`.
void encode_value(nanobind::handle object, ValueText& text, Payload& payload, std::uint64_t limit);

}  // namespace kcoral::worker
