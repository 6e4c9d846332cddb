// Reading a worker's output pipe.
#include "engine/output_capture.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace kcoral::engine {
namespace {

// Enough to empty a pipe in one go (its default capacity), little enough to stay fair to others.
constexpr std::size_t read_size = 64 << 10;
constexpr int reads_per_turn = 16;

// Where bytes beyond the limit go without being copied to user space.
const Fd& null_device() {
    static const Fd file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    return file;
}

enum class More { maybe, no, ended };

}  // namespace

struct OutputCapture::Reader : std::enable_shared_from_this<Reader> {
    explicit Reader(boost::asio::io_context& loop, int descriptor) : pipe(loop, descriptor) {}

    boost::asio::posix::stream_descriptor pipe;
    CapturedOutput output;
    std::uint64_t limit = 0;

    void wait() {
        pipe.async_wait(boost::asio::posix::descriptor_base::wait_read,
                        [self = shared_from_this()](boost::system::error_code error) {
                            if (error || !self->pipe.is_open()) return;
                            if (self->read_some(reads_per_turn) != More::ended) self->wait();
                        });
    }

    More read_some(int turns) {
        More more = More::maybe;
        while (turns-- > 0 && more == More::maybe)
            more = read_once();
        return more;
    }

    More read_once() {
        ssize_t count = output.bytes.size() < limit ? keep() : discard();
        if (count > 0) {
            if (limit > 0) output.size += static_cast<std::uint64_t>(count);
            return More::maybe;
        }
        if (count < 0 && errno == EINTR) return More::maybe;
        if (count < 0 && errno == EAGAIN) return More::no;
        return More::ended;
    }

    ssize_t keep() {
        std::array<char, read_size> buffer;
        ssize_t count = ::read(pipe.native_handle(), buffer.data(), buffer.size());
        if (count > 0)
            output.bytes.append(buffer.data(), std::min(static_cast<std::size_t>(count),
                                                        limit - output.bytes.size()));
        return count;
    }

    ssize_t discard() {
        return ::splice(pipe.native_handle(), nullptr, null_device().get(), nullptr, read_size * 16,
                        SPLICE_F_NONBLOCK);
    }
};

Result<OutputCapture> OutputCapture::create(boost::asio::io_context& loop, Fd pipe) {
    TRY(set_nonblocking(pipe));
    auto reader = std::make_shared<Reader>(loop, pipe.release());
    reader->wait();
    return OutputCapture(std::move(reader));
}

OutputCapture::OutputCapture(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}
OutputCapture::OutputCapture(OutputCapture&&) noexcept = default;

OutputCapture::~OutputCapture() {
    if (reader_) reader_->pipe.close();
}

void OutputCapture::begin(std::uint64_t limit) {
    drain();
    reader_->output = {};
    reader_->limit = limit;
}

void OutputCapture::drain() {
    // A writer that never stops must not keep us here: its own pipe's worth, many times, is enough.
    if (reader_->pipe.is_open()) reader_->read_some(reads_per_turn * 4);
}

CapturedOutput OutputCapture::take() {
    drain();
    return std::exchange(reader_->output, {});
}

}  // namespace kcoral::engine
