// Fd: the owner of one file descriptor, and the makers of the descriptors KCoral uses.
//
// Every descriptor made here is close-on-exec from birth. Raw ints appear only at system calls.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace kcoral {

class Fd {
  public:
    Fd() = default;
    explicit Fd(int descriptor) : descriptor_(descriptor) {}
    Fd(Fd&& other) noexcept : descriptor_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~Fd() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    int release() { return std::exchange(descriptor_, -1); }
    void reset(int descriptor = -1);

    // A second descriptor of the same open file.
    Result<Fd> duplicate() const;

  private:
    int descriptor_ = -1;
};

struct FdPair {
    Fd first;
    Fd second;
};

// A pipe: `first` is read from, `second` written to.
Result<FdPair> make_pipe();

// Two connected SOCK_SEQPACKET sockets: packets keep their borders, the end of the peer is seen.
Result<FdPair> make_packet_sockets();

// An anonymous file in memory that can be sealed; `name` shows in /proc.
Result<Fd> make_memory_file(const std::string& name);

// Seals a memory file for good: neither its size nor its bytes can change after this. Fails when
// the descriptor is not a memory file or somebody still has it mapped writable.
Result<void> seal_memory_file(const Fd& file);

Result<std::uint64_t> file_size(const Fd& file);

Result<void> set_nonblocking(const Fd& file);

// Writes all of `bytes` at the file's position, continuing after interruptions.
Result<void> write_all(const Fd& file, ByteView bytes);

// Reads the whole file from its start (by position; the file offset stays as it is).
Result<std::string> read_file(const Fd& file);

// Reads a file by path, with `limit` as the most bytes it may have.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64 << 20);

}  // namespace kcoral
