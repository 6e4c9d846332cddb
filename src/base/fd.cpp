// Descriptors: making, sealing, reading and writing them.
#include "base/fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kcoral {

void Fd::reset(int descriptor) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
}

Result<Fd> Fd::duplicate() const {
    int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return errno_failure("duplicating a descriptor");
    return Fd(copy);
}

Result<FdPair> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_failure("making a pipe");
    return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<FdPair> make_packet_sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_failure("making a pair of packet sockets");
    return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> make_memory_file(const std::string& name) {
    int descriptor = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return errno_failure("making a memory file");
    return Fd(descriptor);
}

Result<void> seal_memory_file(const Fd& file) {
    constexpr int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    // A file sealed before answers EPERM; it is as good as sealed now when all seals are there.
    if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) {
        int error_number = errno;
        int present = ::fcntl(file.get(), F_GET_SEALS);
        if (present < 0 || (present & seals) != seals)
            return Failure(system_error("sealing a memory file", error_number));
    }
    return {};
}

Result<std::uint64_t> file_size(const Fd& file) {
    struct stat status;
    if (::fstat(file.get(), &status) != 0) return errno_failure("asking for a file's size");
    return static_cast<std::uint64_t>(status.st_size);
}

Result<void> set_nonblocking(const Fd& file) {
    int flags = ::fcntl(file.get(), F_GETFL);
    if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        return errno_failure("making a descriptor non-blocking");
    return {};
}

Result<void> write_all(const Fd& file, ByteView bytes) {
    while (!bytes.empty()) {
        ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno_failure("writing");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

namespace {

Result<std::string> read_up_to(const Fd& file, std::size_t limit) {
    std::string text;
    constexpr std::size_t step = 64 << 10;
    while (true) {
        std::size_t have = text.size();
        text.resize(have + step);
        ssize_t count = ::pread(file.get(), text.data() + have, step, static_cast<off_t>(have));
        if (count < 0 && errno == EINTR)
            count = 0;
        else if (count < 0)
            return errno_failure("reading");
        else if (count == 0) {
            text.resize(have);
            return text;
        }
        text.resize(have + static_cast<std::size_t>(count));
        if (text.size() > limit) return failure(ErrorCode::too_large, "the file is too large");
    }
}

}  // namespace

Result<std::string> read_file(const Fd& file) {
    return read_up_to(file, SIZE_MAX);
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return errno_failure("opening " + path);
    auto text = read_up_to(file, limit);
    if (!text) return Failure(std::move(text).error().within(path));
    return text;
}

}  // namespace kcoral
