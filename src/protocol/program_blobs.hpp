// The blobs a program refers to: which, for which cache, and whether their sizes fit.
#pragma once

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/program.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace kcoral::protocol {

struct RequiredBlob {
    Digest digest;
    bool memory = false;  // a tensor, bytes or library upload needs it: the memory cache serves it
    bool file = false;    // a file upload needs it: the file cache serves it

    bool operator==(const RequiredBlob&) const = default;
};

// In the order of first reference, each digest once.
std::vector<RequiredBlob> required_blobs(const Program& program);

// `bad_request` ("unreferenced") naming the first supplied blob that no upload refers to.
Result<void> check_supplied(std::span<const RequiredBlob> required,
                            std::span<const Digest> supplied);

// `bad_request` ("expects N bytes") for the first tensor upload whose blob has another length.
// `size_of` tells a blob's length, or nothing when its bytes are not here: then only a shape too
// large for any blob is an error.
using SizeOfBlob = std::function<std::optional<std::uint64_t>(const Digest&)>;
Result<void> check_tensor_sizes(const Program& program, const SizeOfBlob& size_of);

}  // namespace kcoral::protocol
