// Blobs, made from bytes that are there already.
#include "blob/blob.hpp"

#include <utility>

namespace kcoral::blob {

Blob::Blob(const Digest& digest, std::vector<std::byte> bytes)
    : digest_(digest), size_(bytes.size()), bytes_(std::move(bytes)) {}

Blob::Blob(const Digest& digest, Fd file, std::uint64_t size)
    : digest_(digest), size_(size), file_(std::move(file)) {}

Result<BlobPtr> Blob::copy_of(ByteView bytes) {
    Digest digest = Sha256::of(bytes);
    if (bytes.size() <= small_limit)
        return std::make_shared<const Blob>(digest, std::vector(bytes.begin(), bytes.end()));
    TRY_ASSIGN(Fd file, make_memory_file("kcoral-blob"));
    TRY(write_all(file, bytes));
    TRY(seal_memory_file(file));
    return std::make_shared<const Blob>(digest, std::move(file), bytes.size());
}

ByteView Blob::view() const {
    return bytes_;
}

}  // namespace kcoral::blob
