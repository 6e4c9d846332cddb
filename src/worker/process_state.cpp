// One function for each kind of state.
#include "worker/process_state.hpp"

#include "worker/descriptors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <thread>

namespace kcoral::worker {
namespace {

enum class Skip { nothing, own_descriptor };

// The numbers that name the entries of a folder.
std::vector<int> numbers_in(const char* path, Skip skip) {
    std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path), &::closedir);
    std::vector<int> numbers;
    while (dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
        int number;
        const char* end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, number).ec == std::errc() &&
            (skip == Skip::nothing || number != ::dirfd(directory.get())))
            numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::vector<int> open_descriptors() {
    return numbers_in("/proc/self/fd", Skip::own_descriptor);
}

std::size_t count_threads() {
    return numbers_in("/proc/self/task", Skip::nothing).size();
}

std::vector<std::string> environment_now() {
    std::vector<std::string> variables;
    for (char** entry = environ; entry && *entry; ++entry)
        variables.emplace_back(*entry);
    return variables;
}

// A thread that was joined may still be on its last steps in the kernel.
std::size_t threads_after_joins(std::size_t expected) {
    std::size_t threads = 0;
    for (int round = 0; round < 20; ++round) {
        threads = count_threads();
        if (threads <= expected) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return threads;
}

mode_t umask_now() {
    mode_t mask = ::umask(077);
    ::umask(mask);
    return mask;
}

bool same_file(int a, int b) {
    struct stat first, second;
    return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

void stop_timers() {
    itimerval never{};
    for (int timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF})
        ::setitimer(static_cast<__itimer_which>(timer), &never, nullptr);
}

bool same_action(const struct sigaction& a, const struct sigaction& b) {
    return a.sa_handler == b.sa_handler && a.sa_flags == b.sa_flags;
}

}  // namespace

Result<ProcessState> ProcessState::take() {
    ProcessState state;
    state.environment_ = environment_now();
    state.umask_ = umask_now();
    for (int number = 1; number < NSIG; ++number)
        ::sigaction(number, nullptr, &state.actions_[static_cast<std::size_t>(number)]);
    ::sigprocmask(SIG_SETMASK, nullptr, &state.mask_);
    for (std::size_t i = 0; i < state.limits_.size(); ++i)
        ::getrlimit(static_cast<__rlimit_resource>(i), &state.limits_[i]);
    ::sched_getaffinity(0, sizeof state.affinity_, &state.affinity_);
    state.niceness_ = ::getpriority(PRIO_PROCESS, 0);
    state.locale_ = ::setlocale(LC_ALL, nullptr);
    for (int i = 0; i < 3; ++i) {
        Fd copy(::fcntl(i, F_DUPFD_CLOEXEC, 3));
        if (!copy) return errno_failure("keeping a standard stream");
        state.streams_[static_cast<std::size_t>(i)] = move_out_of_the_way(std::move(copy));
    }
    state.descriptors_ = open_descriptors();
    state.threads_ = count_threads();
    return state;
}

void ProcessState::restore_environment() const {
    auto now = environment_now();
    if (now == environment_) return;
    ::clearenv();
    for (const std::string& variable : environment_)
        if (std::size_t equals = variable.find('='); equals != std::string::npos)
            ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
}

void ProcessState::restore_signals() const {
    for (int number = 1; number < NSIG; ++number) {
        const auto& wanted = actions_[static_cast<std::size_t>(number)];
        struct sigaction now;
        if (::sigaction(number, nullptr, &now) == 0 && !same_action(now, wanted))
            ::sigaction(number, &wanted, nullptr);
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

std::optional<std::string> ProcessState::restore_limits() const {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
        auto resource = static_cast<__rlimit_resource>(i);
        rlimit now;
        ::getrlimit(resource, &now);
        if (std::memcmp(&now, &limits_[i], sizeof now) == 0) continue;
        if (::setrlimit(resource, &limits_[i]) != 0)
            return fmt::format("resource limit {} was lowered for good", i);
    }
    return std::nullopt;
}

std::optional<std::string> ProcessState::restore_streams() const {
    for (int i = 0; i < 3; ++i) {
        int kept = streams_[static_cast<std::size_t>(i)].get();
        if (::fcntl(kept, F_GETFD) < 0) return "the kept standard streams were closed";
        if (!same_file(i, kept) && ::dup2(kept, i) < 0) return "a standard stream is lost";
    }
    return std::nullopt;
}

std::optional<std::string> ProcessState::restore() const {
    stop_timers();
    restore_environment();
    restore_signals();
    ::umask(umask_);
    ::sched_setaffinity(0, sizeof affinity_, &affinity_);
    if (locale_ != ::setlocale(LC_ALL, nullptr)) ::setlocale(LC_ALL, locale_.c_str());
    if (auto why = restore_limits()) return why;
    if (auto why = restore_streams()) return why;
    if (::getpriority(PRIO_PROCESS, 0) != niceness_) return "its niceness was changed";
    std::size_t threads = threads_after_joins(threads_);
    if (threads > threads_) return fmt::format("{} threads are left", threads - threads_);
    std::vector<int> descriptors = open_descriptors();
    if (descriptors == descriptors_) return std::nullopt;
    std::vector<int> fresh, gone;
    std::ranges::set_difference(descriptors, descriptors_, std::back_inserter(fresh));
    std::ranges::set_difference(descriptors_, descriptors, std::back_inserter(gone));
    if (!gone.empty()) return fmt::format("descriptors {} were closed", fmt::join(gone, ", "));
    return fmt::format("descriptors {} are left open", fmt::join(fresh, ", "));
}

}  // namespace kcoral::worker
