// Uploads: the blobs of one program, and what becomes of them in the interpreter or the workspace.
//
// Throws InstructionFailed. Needs the GIL.
#pragma once

#include "base/sha256.hpp"
#include "worker/messages.hpp"
#include "worker/workspace.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace kcoral::worker {

class Uploads {
  public:
    explicit Uploads(const Execute& request) : request_(request) {}

    nanobind::object bytes(const Digest& digest) const;
    // A NumPy array, or a torch tensor where torch is loaded; both writable.
    nanobind::object host_tensor(const Digest& digest, std::string_view dtype,
                                 std::span<const std::int64_t> shape) const;
    void write_file(const Digest& digest, std::string_view path, const Workspace& workspace) const;

  private:
    const Execute::Blob& find(const Digest& digest) const;
    nanobind::object read(const Execute::Blob& blob) const;  // a bytearray
    void read_into(const Execute::Blob& blob, char* destination) const;

    const Execute& request_;
};

}  // namespace kcoral::worker
