// User ids, user namespaces and capability sets, by plain system calls: glibc's wrappers for
// changing ids would signal threads that belong to the process whose memory a seat's init borrows.
#include "sandbox/privileges.hpp"

#include "base/fd.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <sstream>

namespace kcoral::sandbox {
namespace {

// Far from the ids that people, services and containers are given; the second choice is for
// containers that have 65,536 ids only.
constexpr UserRange wide_range{0x6b630000, 1 << 20};
constexpr UserRange narrow_range{30000, 30000};

bool covers(std::string_view uid_map, const UserRange& range) {
    std::istringstream lines{std::string(uid_map)};
    std::uint64_t inside, outside, count;
    while (lines >> inside >> outside >> count)
        if (inside <= range.first && range.first + std::uint64_t{range.count} <= inside + count)
            return true;
    return false;
}

Result<void> write_text(const char* path, std::string_view text) {
    Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file) return errno_failure(path);
    if (::write(file.get(), text.data(), text.size()) < 0) return errno_failure(path);
    return {};
}

Result<void> map_id(const char* path, unsigned id) {
    char line[32];
    int size = std::snprintf(line, sizeof line, "%u %u 1\n", id, id);
    return write_text(path, {line, static_cast<std::size_t>(size)});
}

Result<void> empty_bounding_set() {
    for (int capability = 0;; ++capability) {
        int there = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
        if (there < 0) return {};  // past the last one
        if (there == 1 && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
            return errno_failure("emptying the bounding set of capabilities");
    }
}

}  // namespace

std::optional<UserRange> seat_users(std::string_view uid_map) {
    for (const UserRange& range : {wide_range, narrow_range})
        if (covers(uid_map, range)) return range;
    return std::nullopt;
}

Result<void> become_user(uid_t user) {
    TRY(empty_bounding_set());  // as the user we could not any more
    if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno_failure("leaving all groups");
    if (::syscall(SYS_setresgid, user, user, user) != 0)
        return errno_failure("becoming the seat's group");
    if (::syscall(SYS_setresuid, user, user, user) != 0)
        return errno_failure("becoming the seat's user");
    return {};
}

Result<void> enter_user_namespace() {
    uid_t user = ::geteuid();
    gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER) != 0) return errno_failure("making a user namespace");
    TRY(write_text("/proc/self/setgroups", "deny"));
    TRY(map_id("/proc/self/uid_map", user));
    TRY(map_id("/proc/self/gid_map", group));
    return {};
}

bool counts_processes_by_namespace() {
    utsname name{};
    int major = 0, minor = 0;
    ::uname(&name);
    return std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 14));
}

Result<void> drop_capabilities() {
    TRY(empty_bounding_set());
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct nothing[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capset, &header, nothing) != 0)
        return errno_failure("dropping all capabilities");
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_failure("setting no_new_privs");
    return {};
}

bool has_admin_capability() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    return sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

}  // namespace kcoral::sandbox
