// A high number, and a fork handler that closes it in children.
#include "worker/descriptors.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace kcoral::worker {
namespace {

// Read by the fork handler, in the child of whichever thread forked.
std::atomic<int> channel_descriptor = -1;
std::atomic<pid_t> worker_process = 0;

void close_in_child() {
    int descriptor = channel_descriptor.exchange(-1);
    if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

Fd move_out_of_the_way(Fd file) {
    constexpr int room = 32;  // for all that a worker keeps
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    // Not higher: the kernel's table of descriptors grows with the highest number.
    int lowest = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024)) - room;
    if (lowest > 3)
        if (int moved = ::fcntl(file.get(), F_DUPFD_CLOEXEC, lowest); moved >= 0) return Fd(moved);
    return file;
}

Result<Fd> keep_to_worker(Fd channel) {
    channel = move_out_of_the_way(std::move(channel));
    channel_descriptor = channel.get();
    worker_process = ::getpid();
    if (::pthread_atfork(nullptr, nullptr, &close_in_child) != 0)
        return failure(ErrorCode::internal, "a fork handler could not be registered");
    return channel;
}

bool is_the_worker() {
    return ::getpid() == worker_process;
}

}  // namespace kcoral::worker
