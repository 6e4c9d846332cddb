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

Result<Fd> keep_to_worker(Fd channel) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    // Not higher: the kernel's table of descriptors grows with the highest number.
    int number = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024)) - 1;
    if (int moved = ::fcntl(channel.get(), F_DUPFD_CLOEXEC, number); moved >= 0)
        channel = Fd(moved);
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
