// Bytes and blobs for tests: any two seeds give different bytes.
#pragma once

#include "blob/blob.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kcoral::blob::testing {

inline std::vector<std::byte> make_bytes(std::size_t size, std::uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

inline BlobPtr make_blob(std::size_t size, std::uint32_t seed = 1) {
    return Blob::copy_of(make_bytes(size, seed)).value();
}

}  // namespace kcoral::blob::testing
