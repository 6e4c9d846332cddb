// Blob: the immutable bytes of one upload, known by their SHA-256.
//
// A large blob lies in a sealed memory file, ready to be given to a worker as a descriptor; a small
// one lies in the heap, so that many small blobs do not cost as many descriptors. A blob is shared
// by pointer and may be read on any thread; its bytes go when the last pointer does.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/sha256.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kcoral::blob {

class Blob;
using BlobPtr = std::shared_ptr<const Blob>;

class Blob {
  public:
    // The most bytes a blob in the heap has; one byte more and it is a memory file.
    static constexpr std::uint64_t small_limit = 64 << 10;

    // A small blob. `digest` is that of `bytes`: who makes a blob has hashed it.
    Blob(const Digest& digest, std::vector<std::byte> bytes);
    // A large blob: `file` is a sealed memory file of `size` bytes.
    Blob(const Digest& digest, Fd file, std::uint64_t size);

    // A blob of bytes that are in memory already, hashed on this thread.
    static Result<BlobPtr> copy_of(ByteView bytes);

    const Digest& digest() const { return digest_; }
    std::uint64_t size() const { return size_; }

    // The sealed memory file of a large blob, null for a small one. Its file offset means nothing:
    // read by position or map it.
    const Fd* file() const { return file_ ? &file_ : nullptr; }
    // The bytes of a small blob. Only when there is no file().
    ByteView view() const;

  private:
    Digest digest_;
    std::uint64_t size_;
    std::vector<std::byte> bytes_;  // small
    Fd file_;                       // large
};

}  // namespace kcoral::blob
