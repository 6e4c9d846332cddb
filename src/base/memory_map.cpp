// Mapping files into memory.
#include "base/memory_map.hpp"

#include <sys/mman.h>

#include <utility>

namespace kcoral {

MemoryMap::MemoryMap(MemoryMap&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MemoryMap::~MemoryMap() {
    if (data_) ::munmap(data_, size_);
}

Result<MemoryMap> MemoryMap::read_only(const Fd& file, std::size_t size, std::uint64_t offset) {
    // Private although nobody writes: until 6.7 Linux refuses shared mappings of a sealed file, and
    // refuses to seal a file that has one.
    return map(file, size, offset, PROT_READ, MAP_PRIVATE);
}

Result<MemoryMap> MemoryMap::writable(const Fd& file, std::size_t size) {
    return map(file, size, 0, PROT_READ | PROT_WRITE, MAP_SHARED);
}

Result<MemoryMap> MemoryMap::map(const Fd& file, std::size_t size, std::uint64_t offset,
                                 int protection, int flags) {
    if (size == 0) return MemoryMap();
    void* data = ::mmap(nullptr, size, protection, flags, file.get(), static_cast<off_t>(offset));
    if (data == MAP_FAILED) return errno_failure("mapping a file into memory");
    return MemoryMap(static_cast<std::byte*>(data), size);
}

}  // namespace kcoral
