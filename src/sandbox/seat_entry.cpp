// The steps into a seat.
#include "sandbox/seat_entry.hpp"

#include "base/fd.hpp"
#include "sandbox/paths.hpp"
#include "sandbox/privileges.hpp"
#include "sandbox/workspace_layout.hpp"

#include <climits>

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace kcoral::sandbox {
namespace {

Result<void> enter_cgroup(const Fd& cgroup) {
    if (::write(cgroup.get(), "0", 1) != 1) return errno_failure("entering the seat's cgroup");
    return {};
}

Result<void> start_session() {
    // Fails only where the caller leads a process group already, which a fresh fork does not.
    if (::setsid() < 0) return errno_failure("starting a session");
    return {};
}

Result<void> enter_namespaces(int flags) {
    if (::unshare(flags) != 0) return errno_failure("making the seat's namespaces");
    return {};
}

Result<void> raise_loopback() {
    Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) return errno_failure("opening a socket");
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
        return errno_failure("raising the loopback interface");
    return {};
}

// What is mounted from now on stays in this seat.
Result<void> stop_propagation() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        return errno_failure("keeping mounts to the seat");
    return {};
}

Result<void> give_folders(const char* workspace, const SeatEntry& entry) {
    Fd folder(::open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return errno_failure("opening the workspace");
    TRY(make_private_folders(folder, entry.user));
    if (entry.user && ::fchown(folder.get(), *entry.user, *entry.user) != 0)
        return errno_failure("giving the workspace to the seat's user");
    return {};
}

Result<void> mount_workspace(const SeatEntry& entry) {
    const char* work = sandbox_workspace.data();
    if (!entry.tmpfs_options.empty()) {
        if (::mount("tmpfs", work, "tmpfs", MS_NOSUID | MS_NODEV, entry.tmpfs_options.c_str()) != 0)
            return errno_failure("mounting /work in memory");
    } else if (::mount(entry.workspace.c_str(), work, nullptr, MS_BIND, nullptr) != 0) {
        return errno_failure("mounting the workspace on /work");
    }
    return give_folders(work, entry);
}

// Folders on the way to a kept mount point; the last one is a file where the mount is one.
Result<void> make_mount_point(const std::string& path, const Fd& mount) {
    char partial[PATH_MAX];
    if (path.size() >= sizeof partial) return failure(ErrorCode::internal, "too long a path");
    for (std::size_t end = sandbox_workspace.size() + 1; end != path.npos;) {
        end = path.find('/', end);
        std::size_t length = std::min(end, path.size());
        std::memcpy(partial, path.data(), length);
        partial[length] = '\0';
        if (end != path.npos) ++end;
        struct stat status;
        if (end == path.npos && ::fstat(mount.get(), &status) == 0 && !S_ISDIR(status.st_mode)) {
            Fd(::open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
            return {};
        }
        if (::mkdir(partial, 0755) != 0 && errno != EEXIST) return errno_failure(path);
    }
    return {};
}

// Part of the Python environment, or a path the operator shows, may lie below /work or /tmp on the
// host. It is picked up before the workspace covers it, and put back on top.
Result<void> mount_workspace_below(const SeatEntry& entry, std::size_t index) {
    if (index == entry.kept_mounts.size()) return mount_workspace(entry);
    const std::string& path = entry.kept_mounts[index];
    Fd mount(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!mount) return errno_failure("keeping " + path);
    TRY(mount_workspace_below(entry, index + 1));
    TRY(make_mount_point(path, mount));
    if (::move_mount(mount.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return errno_failure("keeping " + path);
    return {};
}

// Covered, not unmounted: that waits for every processor (RCU), milliseconds on a busy host.
Result<void> hide_other_workspaces(const SeatEntry& entry) {
    if (::mount(empty_folder.data(), entry.workspaces.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return errno_failure("hiding other workspaces");
    return {};
}

Result<void> mount_proc() {
    if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        return errno_failure("mounting /proc");
    return {};
}

Result<void> change_directory(const char* path) {
    if (::chdir(path) != 0) return errno_failure("entering the workspace");
    return {};
}

Result<void> change_user(const SeatEntry& entry) {
    if (entry.user) return become_user(*entry.user);
    if (entry.own_counts) return enter_user_namespace();
    return {};
}

Result<void> die_with_zygote(const SeatEntry& entry, int signal) {
    if (::prctl(PR_SET_PDEATHSIG, signal) != 0)
        return errno_failure("asking to die with the zygote");
    // It may have died before it was asked.
    ::close(entry.zygote_alive_writer);
    pollfd alive{entry.zygote_alive, POLLIN, 0};
    if (::poll(&alive, 1, 0) != 0) return failure(ErrorCode::closed, "the zygote has died");
    return {};
}

Result<void> adopt_orphans() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno_failure("adopting orphans");
    return {};
}

Result<void> enter_sandbox(const SeatEntry& entry) {
    TRY(enter_namespaces(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET));
    TRY(raise_loopback());
    TRY(mount_workspace_below(entry, 0));
    TRY(hide_other_workspaces(entry));
    TRY(mount_proc());
    TRY(change_directory(sandbox_workspace.data()));
    TRY(change_user(entry));
    TRY(drop_capabilities());
    TRY(entry.filter->install());
    return {};
}

Result<void> enter_process_tree(const SeatEntry& entry) {
    TRY(die_with_zygote(entry, SIGKILL));
    TRY(enter_namespaces(CLONE_NEWNS));
    TRY(stop_propagation());
    TRY(mount_proc());
    TRY(give_folders(entry.workspace.c_str(), entry));
    TRY(change_directory(entry.workspace.c_str()));
    TRY(change_user(entry));
    if (entry.drop_capabilities) TRY(drop_capabilities());
    return {};
}

Result<void> enter_session(const SeatEntry& entry) {
    TRY(die_with_zygote(entry, SIGHUP));
    TRY(adopt_orphans());
    TRY(give_folders(entry.workspace.c_str(), entry));
    TRY(change_directory(entry.workspace.c_str()));
    if (entry.drop_capabilities) TRY(drop_capabilities());
    return {};
}

// mountinfo writes blanks and backslashes as \ooo.
std::string unescape(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 3)), nullptr, 8));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

}  // namespace

std::vector<std::string> mounts_below_workspace(std::string_view mountinfo) {
    std::vector<std::string> mounts;
    std::istringstream lines{std::string(mountinfo)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word, point;  // the fifth
        words >> word >> word >> word >> word >> point;
        if (point != sandbox_workspace && lies_in(point, sandbox_workspace))
            mounts.push_back(unescape(point));
    }
    return mounts;
}

Result<void> enter_seat(const SeatEntry& entry) {
    if (entry.cgroup) TRY(enter_cgroup(*entry.cgroup));
    TRY(start_session());
    switch (entry.isolation) {
        case Isolation::sandbox:
            TRY(enter_sandbox(entry));
            break;
        case Isolation::process_tree:
            TRY(enter_process_tree(entry));
            break;
        case Isolation::session:
            TRY(enter_session(entry));
            break;
    }
    bool counts_alone = entry.user || (entry.own_counts && entry.isolation != Isolation::session &&
                                       counts_processes_by_namespace());
    return apply_limits(entry.limits, entry.cgroup != nullptr, counts_alone);
}

}  // namespace kcoral::sandbox
