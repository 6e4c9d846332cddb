// Listing, awaiting and killing what a program left behind.
#include "sandbox/process_tree.hpp"

#include "base/fd.hpp"
#include "sandbox/process_scan.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kcoral::sandbox {
namespace {

Result<std::vector<ScannedProcess>> scan(const std::string& proc) {
    std::vector<ScannedProcess> processes(256);
    while (true) {
        ssize_t count = scan_processes(proc.c_str(), processes.data(), processes.size());
        if (count < 0) return errno_failure("listing the processes below " + proc);
        if (static_cast<std::size_t>(count) < processes.size()) {
            processes.resize(static_cast<std::size_t>(count));
            return processes;
        }
        processes.resize(processes.size() * 4);
    }
}

ProcessEntry to_entry(const ScannedProcess& process) {
    return {process.pid, process.parent, process.state, process.name};
}

// Milliseconds for poll(2), rounded up so that it does not return just before the deadline.
int milliseconds_until(SteadyTime deadline) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Until one of the processes has ended or the time is up.
void wait_for_an_end(const std::vector<ProcessEntry>& processes, SteadyTime deadline) {
    constexpr std::size_t enough = 64;  // every one must end, so any of them may be waited for
    std::vector<Fd> pidfds;
    std::vector<pollfd> polled;
    for (const ProcessEntry& process : processes) {
        if (polled.size() == enough) break;
        Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
        if (!pidfd) return;  // it ended just now
        polled.push_back({pidfd.get(), POLLIN, 0});
        pidfds.push_back(std::move(pidfd));
    }
    ::poll(polled.data(), polled.size(), milliseconds_until(deadline));
}

}  // namespace

Result<std::vector<ProcessEntry>> list_processes(const std::string& proc) {
    TRY_ASSIGN(auto scanned, scan(proc));
    std::vector<ProcessEntry> entries;
    std::ranges::transform(scanned, std::back_inserter(entries), to_entry);
    return entries;
}

ProcessTree ProcessTree::of_this_worker() {
    return {::getppid(), ::getpid()};
}

Result<std::vector<ProcessEntry>> ProcessTree::left_over() const {
    TRY_ASSIGN(auto scanned, scan(proc_));
    mark_descendants(scanned.data(), scanned.size(), init_);
    std::vector<ProcessEntry> entries;
    for (const ScannedProcess& process : scanned)
        if (process.descendant && process.alive() && process.pid != worker_)
            entries.push_back(to_entry(process));
    return entries;
}

Result<std::vector<ProcessEntry>> ProcessTree::wait_until_gone(SteadyTime deadline) const {
    while (true) {
        TRY_ASSIGN(auto alive, left_over());
        if (alive.empty() || std::chrono::steady_clock::now() >= deadline) return alive;
        wait_for_an_end(alive, deadline);
    }
}

Result<void> ProcessTree::signal(int number) const {
    TRY_ASSIGN(auto alive, left_over());
    for (const ProcessEntry& process : alive)
        ::kill(process.pid, number);
    return {};
}

Result<void> ProcessTree::kill(SteadyTime deadline) const {
    while (true) {
        // In a PID namespace one call strikes everyone but init and the caller at the same moment.
        // Elsewhere a stopped process forks no more, so stop them all first.
        if (init_ == 1 && worker_ == ::getpid()) {
            ::kill(-1, SIGKILL);
        } else {
            for (std::size_t before = ~std::size_t{0}, now = 0; before != now;) {
                before = now;
                TRY(signal(SIGSTOP));
                TRY_ASSIGN(auto alive, left_over());
                now = alive.size();
            }
            TRY(signal(SIGKILL));
        }
        TRY_ASSIGN(auto alive, left_over());
        if (alive.empty()) return {};
        if (std::chrono::steady_clock::now() >= deadline)
            return failure(ErrorCode::timeout,
                           fmt::format("{} killed processes are not dead yet, {} ({}) among them",
                                       alive.size(), alive[0].pid, alive[0].name));
        wait_for_an_end(alive, std::min(deadline, std::chrono::steady_clock::now() +
                                                      std::chrono::milliseconds(50)));
    }
}

}  // namespace kcoral::sandbox
