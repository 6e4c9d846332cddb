// Packing a request's blobs into the few descriptors that go to its worker.
#pragma once

#include "base/error.hpp"
#include "blob/blob.hpp"
#include "blob/disk_cache.hpp"
#include "blob/memory_cache.hpp"
#include "worker/messages.hpp"

#include <memory>
#include <variant>
#include <vector>

namespace kcoral::engine {

// One upload's bytes, held for as long as the request lives.
struct Supply {
    Digest digest;
    // Pinned in the memory cache, just passing through, or in the disk cache.
    std::variant<blob::Pin, blob::BlobPtr, std::shared_ptr<const blob::CachedFile>> bytes;
};

// Fills in `blobs` and `files`: large blobs and cached files as their own descriptors, all small
// ones one after the other in one memory file.
Result<void> pack_blobs(const std::vector<Supply>& supplies, worker::Execute& program);

}  // namespace kcoral::engine
