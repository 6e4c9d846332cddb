// MemoryMap: the owner of one mapping of a file into memory.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace kcoral {

class MemoryMap {
  public:
    MemoryMap() = default;
    MemoryMap(MemoryMap&& other) noexcept;
    MemoryMap& operator=(MemoryMap&& other) noexcept;
    ~MemoryMap();

    // Maps `size` bytes read-only, from `offset` on, a multiple of the page size. The file must not
    // shrink while mapped: seal it first.
    static Result<MemoryMap> read_only(const Fd& file, std::size_t size, std::uint64_t offset = 0);
    // Maps the first `size` bytes for reading and writing, shared with every other mapping.
    static Result<MemoryMap> writable(const Fd& file, std::size_t size);

    ByteView bytes() const { return {data_, size_}; }
    std::span<std::byte> writable_bytes() { return {data_, size_}; }

  private:
    MemoryMap(std::byte* data, std::size_t size) : data_(data), size_(size) {}
    static Result<MemoryMap> map(const Fd& file, std::size_t size, std::uint64_t offset,
                                 int protection, int flags);

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace kcoral
