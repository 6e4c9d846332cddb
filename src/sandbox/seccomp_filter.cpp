// The table of denied system calls, compiled once by libseccomp and loaded as often as wanted.
#include "sandbox/seccomp_filter.hpp"

#include "base/fd.hpp"

#include <seccomp.h>

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

namespace kcoral::sandbox {
namespace {

constexpr std::string_view denied_calls[] = {
    // file systems and namespaces
    "mount",
    "umount",
    "umount2",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "swapon",
    "swapoff",
    "quotactl",
    "quotactl_fd",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    "fanotify_mark",
    "lookup_dcookie",
    "nfsservctl",
    "sysfs",
    // the kernel itself
    "bpf",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "query_module",
    "get_kernel_syms",
    "reboot",
    "syslog",
    "acct",
    "iopl",
    "ioperm",
    "perf_event_open",
    "userfaultfd",
    "vm86",
    "vm86old",
    "uselib",
    "_sysctl",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    // the machine and its users
    "add_key",
    "request_key",
    "keyctl",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "vhangup",
};

// A network namespace confines these families; others (vsock, packet, AF_ALG, ...) it does not, or
// nobody needs them. In ascending order.
constexpr int allowed_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
static_assert(std::ranges::is_sorted(allowed_families));

constexpr unsigned long namespace_flags[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                             CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                             CLONE_NEWNET};

struct Release {
    void operator()(void* filter) const { ::seccomp_release(filter); }
};

// libseccomp's results, negative errno values, collected to the first that failed.
class Rules {
  public:
    explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

    void deny(int call, int error_number, auto... conditions) {
        note(::seccomp_rule_add(filter_, SCMP_ACT_ERRNO(static_cast<unsigned>(error_number)), call,
                                sizeof...(conditions), conditions...));
    }
    void note(int result) {
        if (first_ == 0 && result < 0) first_ = result;
    }
    int failure() const { return first_; }

  private:
    scmp_filter_ctx filter_;
    int first_ = 0;
};

// Without libseccomp's macros, which are C and not C++.
scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
    return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

constexpr std::uint64_t low_half = 0xffffffff;  // all the kernel reads of an int

void deny_families(Rules& rules) {
    int next = 0;
    for (int family : allowed_families) {
        for (; next < family; ++next)
            rules.deny(SCMP_SYS(socket), EPERM,
                       masked(0, low_half, static_cast<std::uint64_t>(next)));
        next = family + 1;
    }
    rules.deny(SCMP_SYS(socket), EPERM,
               scmp_arg_cmp{0, SCMP_CMP_GE, static_cast<std::uint64_t>(next), 0});
}

}  // namespace

Result<SeccompFilter> SeccompFilter::compile() {
    std::unique_ptr<void, Release> filter(::seccomp_init(SCMP_ACT_ALLOW));
    if (!filter) return failure(ErrorCode::internal, "libseccomp cannot make a filter");
    Rules rules(filter.get());
    // Calls of other architectures (32-bit, x32) would go round the table.
    rules.note(::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    rules.note(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
    for (std::string_view name : denied_calls) {
        int call = ::seccomp_syscall_resolve_name(std::string(name).c_str());
        if (call != __NR_SCMP_ERROR) rules.deny(call, EPERM);  // an error: no such call here
    }
    for (unsigned long flag : namespace_flags)
        rules.deny(SCMP_SYS(clone), EPERM, masked(0, flag, flag));
    rules.deny(SCMP_SYS(clone3), ENOSYS);
    deny_families(rules);
    // Typing into the terminal the server was started from.
    for (unsigned long request : {0x5412UL /* TIOCSTI */, 0x541CUL /* TIOCLINUX */})
        rules.deny(SCMP_SYS(ioctl), EPERM, masked(1, low_half, request));
    if (rules.failure() < 0)
        return Failure(system_error("building the seccomp filter", -rules.failure()));

    TRY_ASSIGN(Fd file, make_memory_file("seccomp"));
    if (int result = ::seccomp_export_bpf(filter.get(), file.get()); result < 0)
        return Failure(system_error("compiling the seccomp filter", -result));
    TRY_ASSIGN(std::string bytes, read_file(file));
    std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
    std::memcpy(program.data(), bytes.data(), program.size() * sizeof(sock_filter));
    return SeccompFilter(std::move(program));
}

Result<void> SeccompFilter::install() const {
    sock_fprog program{static_cast<unsigned short>(program_.size()),
                       const_cast<sock_filter*>(program_.data())};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return errno_failure("installing the seccomp filter");
    return {};
}

}  // namespace kcoral::sandbox
