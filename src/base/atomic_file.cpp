// Write beside, then rename.
#include "base/atomic_file.hpp"

#include "base/uuid.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace kcoral {

AtomicFile::AtomicFile(std::string path, std::string temporary, Fd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)) {}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(std::string path, unsigned mode) {
    std::string temporary = path + ".tmp-" + make_uuid();
    Fd fd(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd) return errno_failure("creating " + temporary);
    return AtomicFile(std::move(path), std::move(temporary), std::move(fd));
}

Result<void> AtomicFile::commit() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return errno_failure("renaming into " + path_);
    temporary_.clear();
    return {};
}

}  // namespace kcoral
