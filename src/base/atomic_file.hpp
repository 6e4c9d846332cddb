// AtomicFile: a file that is there whole or not at all.
//
// Bytes go to a temporary beside the destination; commit() renames it into place; a destructor
// without a commit removes it.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

#include <string>

namespace kcoral {

class AtomicFile {
  public:
    static Result<AtomicFile> create(std::string path, unsigned mode = 0600);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    const Fd& fd() const { return fd_; }
    Result<void> write(ByteView bytes) { return write_all(fd_, bytes); }
    Result<void> commit();

  private:
    AtomicFile(std::string path, std::string temporary, Fd fd);

    std::string path_;
    std::string temporary_;  // empty once committed
    Fd fd_;
};

}  // namespace kcoral
