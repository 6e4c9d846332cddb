// The steps into a seat.
#include "sandbox/seat_entry.hpp"

#include "base/fd.hpp"
#include "sandbox/privileges.hpp"
#include "sandbox/workspace_layout.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

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
    if (entry.user && ::fchown(folder.get(), *entry.user, *entry.user) != 0)
        return errno_failure("giving the workspace to the seat's user");
    return make_private_folders(folder, entry.user);
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

Result<void> hide_other_workspaces(const SeatEntry& entry) {
    if (::umount2(entry.workspaces.c_str(), MNT_DETACH) != 0)
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

Result<void> die_with_zygote(int signal) {
    if (::prctl(PR_SET_PDEATHSIG, signal) != 0)
        return errno_failure("asking to die with the zygote");
    return {};
}

Result<void> adopt_orphans() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno_failure("adopting orphans");
    return {};
}

Result<void> enter_sandbox(const SeatEntry& entry) {
    TRY(enter_namespaces(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET));
    TRY(raise_loopback());
    TRY(mount_workspace(entry));
    TRY(hide_other_workspaces(entry));
    TRY(mount_proc());
    TRY(change_directory(sandbox_workspace.data()));
    TRY(change_user(entry));
    TRY(drop_capabilities());
    TRY(entry.filter->install());
    return {};
}

Result<void> enter_process_tree(const SeatEntry& entry) {
    TRY(die_with_zygote(SIGKILL));
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
    TRY(die_with_zygote(SIGHUP));
    TRY(adopt_orphans());
    TRY(give_folders(entry.workspace.c_str(), entry));
    TRY(change_directory(entry.workspace.c_str()));
    if (entry.drop_capabilities) TRY(drop_capabilities());
    return {};
}

}  // namespace

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
