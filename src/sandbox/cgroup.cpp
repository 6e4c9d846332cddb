// Reading and writing cgroup files.
#include "sandbox/cgroup.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

namespace kcoral::sandbox {
namespace {

Result<void> write_line(const std::string& path, std::string_view line) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return errno_failure(path);
    if (::write(file.get(), line.data(), line.size()) < 0) return errno_failure(path);
    return {};
}

Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return errno_failure(path);
    return {};
}

// The path in the line "0::/path" of /proc/self/cgroup.
Result<std::string> own_cgroup(const std::string& root) {
    TRY_ASSIGN(std::string text, read_file(root + "/proc/self/cgroup"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("0::")) return line.substr(3);
    return failure(ErrorCode::unavailable, "this system has no cgroups of version 2");
}

bool has_word(const std::string& text, std::string_view word) {
    std::istringstream words(text);
    for (std::string one; words >> one;)
        if (one == word) return true;
    return false;
}

// systemd marks what it delegates; in a container the root of the view is ours where writable.
bool is_delegated(const std::string& path, const std::string& cgroup) {
    if (cgroup == "/") return true;
    for (const char* mark : {"user.delegate", "trusted.delegate"})
        if (char value = 0; ::getxattr(path.c_str(), mark, &value, 1) == 1 && value == '1')
            return true;
    return false;
}

constexpr std::string_view server_leaf = "kcoral.server";

}  // namespace

Result<SeatCgroups> SeatCgroups::create(const std::string& root) {
    TRY_ASSIGN(std::string cgroup, own_cgroup(root));
    // Started anew by a supervisor in the same cgroup, the server finds itself in the leaf.
    if (std::string leaf = fmt::format("/{}", server_leaf); cgroup.ends_with(leaf))
        cgroup.resize(std::max<std::size_t>(cgroup.size() - leaf.size(), 0));
    if (cgroup.empty()) cgroup = "/";
    std::string path = root + "/sys/fs/cgroup" + (cgroup == "/" ? "" : cgroup);
    auto controllers = read_file(path + "/cgroup.controllers");
    if (!controllers)
        return failure(ErrorCode::unavailable, "cgroups of version 2 are not mounted");
    for (std::string_view needed : {"memory", "pids"})
        if (!has_word(*controllers, needed))
            return failure(ErrorCode::unavailable,
                           fmt::format("the cgroup {} has no {} controller", cgroup, needed));
    if (!is_delegated(path, cgroup) || ::access(path.c_str(), W_OK) != 0)
        return failure(
            ErrorCode::unavailable,
            fmt::format("the cgroup {} is not delegated (systemd: Delegate=yes)", cgroup));
    // A cgroup that hands controllers on may hold no process itself.
    std::string leaf = fmt::format("{}/{}", path, server_leaf);
    TRY(make_folder(leaf));
    TRY(write_line(leaf + "/cgroup.procs", "0"));
    TRY(write_line(path + "/cgroup.subtree_control", "+memory +pids"));
    return SeatCgroups(path);
}

Result<SeatCgroup> SeatCgroups::make(const std::string& name, const SeatLimits& limits) const {
    std::string path = fmt::format("{}/{}", path_, name);
    TRY(make_folder(path));
    SeatCgroup cgroup(path, Fd());
    if (limits.memory) {
        TRY(write_line(path + "/memory.max", std::to_string(limits.memory)));
        TRY(write_line(path + "/memory.oom.group", "1"));
        // Not every kernel accounts swap; without this, memory only moves there.
        [[maybe_unused]] auto no_swap = write_line(path + "/memory.swap.max", "0");
    }
    if (limits.processes) TRY(write_line(path + "/pids.max", std::to_string(limits.processes)));
    cgroup.procs_.reset(
        ::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!cgroup.procs_) return errno_failure("opening the seat's cgroup");
    return cgroup;
}

SeatCgroup::SeatCgroup(SeatCgroup&& other) noexcept
    : path_(std::exchange(other.path_, {})), procs_(std::move(other.procs_)) {}

SeatCgroup& SeatCgroup::operator=(SeatCgroup&& other) noexcept {
    if (this != &other) {
        remove();
        path_ = std::exchange(other.path_, {});
        procs_ = std::move(other.procs_);
    }
    return *this;
}

SeatCgroup::~SeatCgroup() {
    remove();
}

void SeatCgroup::remove() {
    if (path_.empty()) return;
    constexpr int patience = 100;  // rounds of a millisecond, for the killed to leave
    for (int round = 0; ::rmdir(path_.c_str()) != 0 && errno == EBUSY && round < patience;
         ++round) {
        [[maybe_unused]] auto killed = write_line(path_ + "/cgroup.kill", "1");
        timespec moment{0, 1'000'000};
        ::nanosleep(&moment, nullptr);
    }
    path_.clear();
}

bool SeatCgroup::ran_out_of_memory() const {
    auto text = read_file(path_ + "/memory.events");
    if (!text) return false;
    std::istringstream words(*text);
    std::string name;
    for (std::uint64_t count; words >> name >> count;)
        if ((name == "oom_kill" || name == "oom_group_kill") && count > 0) return true;
    return false;
}

}  // namespace kcoral::sandbox
