// The misdeeds themselves.
#include "sandbox/testing/deeds.hpp"

#include "base/fd.hpp"
#include "sandbox/process_tree.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

namespace kcoral::sandbox::testing {
namespace {

using std::chrono::steady_clock;

int exit_with(const std::string& argument) {
    return std::stoi(argument);
}

int die_by(const std::string& argument) {
    ::signal(std::stoi(argument), SIG_DFL);
    ::raise(std::stoi(argument));
    return 0;
}

int sleep_on(const std::string&) {
    fmt::print("sleeping\n");
    std::fflush(stdout);
    [[maybe_unused]] auto told = ::write(ready_descriptor, "!", 1);
    while (true)
        ::pause();
}

int end_on_sigterm(const std::string&) {
    ::signal(SIGTERM, [](int) { ::_exit(77); });
    return sleep_on("");
}

int say_who(const std::string&) {
    char folder[4096];
    fmt::print("pid: {}\nparent: {}\nfolder: {}\nroot: {}\n", ::getpid(), ::getppid(),
               ::getcwd(folder, sizeof folder), ::getuid() == 0);
    auto status = kcoral::read_file("/proc/self/status");
    for (const char* field : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"}) {
        std::size_t at = status->find(field);
        fmt::print("{}\n", status->substr(at, status->find('\n', at) - at));
    }
    return 0;
}

int list_processes_seen(const std::string&) {
    auto processes = kcoral::sandbox::list_processes();
    for (const auto& process : *processes)
        fmt::print("sees: {}\n", process.pid);
    return 0;
}

int list_descriptors(const std::string&) {
    DIR* folder = ::opendir("/proc/self/fd");
    while (dirent* entry = ::readdir(folder))
        if (entry->d_name[0] != '.' && std::stoi(entry->d_name) != ::dirfd(folder))
            fmt::print("descriptor: {}\n", entry->d_name);
    return 0;
}

int read_it(const std::string& path) {
    report("read " + path, Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) ? true : false);
    return 0;
}

int list_folder(const std::string& path) {
    DIR* folder = ::opendir(path.c_str());
    report("list " + path, folder != nullptr);
    while (dirent* entry = folder ? ::readdir(folder) : nullptr)
        if (entry->d_name[0] != '.') fmt::print("entry: {}\n", entry->d_name);
    return 0;
}

int write_everywhere(const std::string&) {
    for (const char* folder : {"/work", "/tmp", "/var/tmp", "/dev/shm", "/", "/usr", "/etc", "/dev",
                               "/sys", "/proc", "/var", "/workspaces", "/root", "/bin"}) {
        std::string path = fmt::format("{}/mark", folder);
        report(fmt::format("write {}", folder),
               Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) ? true : false);
    }
    for (const char* file : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                             "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory"})
        report(fmt::format("write {}", file),
               Fd(::open(file, O_WRONLY | O_CLOEXEC)) ? true : false);
    return 0;
}

int call_the_kernel(const std::string&) {
    auto call = [](const char* name, auto... arguments) {
        errno = 0;
        report(name, ::syscall(arguments...) >= 0);
    };
    call("mount", SYS_mount, "none", "/work", "tmpfs", 0, nullptr);
    call("bind", SYS_mount, "/usr", "/work", nullptr, MS_BIND, nullptr);
    call("remount", SYS_mount, nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr);
    call("umount", SYS_umount2, "/work", MNT_DETACH);
    call("pivot_root", SYS_pivot_root, "/work", "/work");
    call("chroot", SYS_chroot, "/work");
    call("fsopen", SYS_fsopen, "tmpfs", 0);
    call("open_tree", SYS_open_tree, AT_FDCWD, "/usr", 1);
    call("unshare user", SYS_unshare, CLONE_NEWUSER);
    call("unshare mount", SYS_unshare, CLONE_NEWNS);
    call("unshare net", SYS_unshare, CLONE_NEWNET);
    call("setns", SYS_setns, ::open("/proc/self/ns/net", O_RDONLY), 0);
    call("clone user", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    call("clone pid", SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    call("clone3", SYS_clone3, nullptr, 0);
    call("trace init", SYS_ptrace, PTRACE_ATTACH, 1, 0, 0);
    call("bpf", SYS_bpf, 0, nullptr, 0);
    call("keyctl", SYS_keyctl, 0, 0);
    call("add_key", SYS_add_key, "user", "a", "b", 1, -3);
    call("userfaultfd", SYS_userfaultfd, 0);
    call("io_uring", SYS_io_uring_setup, 1, nullptr);
    call("perf", SYS_perf_event_open, nullptr, 0, -1, -1, 0);
    call("kexec", SYS_kexec_load, 0, 0, nullptr, 0);
    call("module", SYS_finit_module, 0, "", 0);
    call("reboot", SYS_reboot, 0, 0, 0, nullptr);
    call("syslog", SYS_syslog, 3, nullptr, 0);
    call("sethostname", SYS_sethostname, "x", 1);
    call("setuid root", SYS_setresuid, 0, 0, 0);
    call("vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0);
    call("packet", SYS_socket, AF_PACKET, SOCK_RAW, 0);
    call("alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0);
    call("raw", SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP);
    call("mknod", SYS_mknodat, AT_FDCWD, "/work/disk", S_IFBLK | 0600, 0x0700);
    return 0;
}

// As debuggers and profilers do with what they start.
int trace_own_child(const std::string&) {
    pid_t child = ::fork();
    if (child == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        ::_exit(5);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    report("trace own child", WIFSTOPPED(status) && ::ptrace(PTRACE_CONT, child, 0, 0) == 0);
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

Fd connect_to(const sockaddr* address, socklen_t size, int family) {
    Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), address, size) != 0) socket.reset();
    return socket;
}

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int connect_to_port(const std::string& port) {
    sockaddr_in address = loopback(std::stoi(port));
    Fd socket = connect_to(reinterpret_cast<sockaddr*>(&address), sizeof address, AF_INET);
    report("connect", bool(socket));
    return 0;
}

int talk_over_loopback(const std::string&) {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener.get(), 1);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return connect_to_port(std::to_string(ntohs(address.sin_port)));
}

sockaddr_un abstract(const std::string& name, socklen_t& size) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
}

int serve_abstract(const std::string& name) {
    socklen_t size;
    sockaddr_un address = abstract(name, size);
    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    report("serve", ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    ::listen(listener.get(), 1);
    std::fflush(stdout);
    ::sleep(1);  // while the other seat tries
    return 0;
}

int connect_abstract(const std::string& name) {
    socklen_t size;
    sockaddr_un address = abstract(name, size);
    for (int i = 0; i < 20; ++i) {
        if (connect_to(reinterpret_cast<sockaddr*>(&address), size, AF_UNIX)) {
            fmt::print("connect: done\n");
            return 0;
        }
        ::usleep(20'000);
    }
    report("connect", false);
    return 0;
}

int share_memory(const std::string&) {
    int segment = ::shmget(0x6b63, 4096, IPC_CREAT | IPC_EXCL | 0600);
    report("make System V memory", segment >= 0);
    ::sleep(1);
    return 0;
}

// A process that left the session, has no parent, ignores what can be ignored and stands still. It
// holds standard output: whoever reads that sees its end only when this is dead.
int leave_a_daemon(const std::string& argument) {
    if (::fork() == 0) {
        ::setsid();
        if (::fork() != 0) ::_exit(0);
        for (int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT})
            ::signal(number, SIG_IGN);
        if (argument == "stopped") ::raise(SIGSTOP);
        while (true)
            ::pause();
    }
    ::usleep(50'000);
    return 0;
}

int leave_a_daemon_and_sleep(const std::string& argument) {
    leave_a_daemon(argument);
    return sleep_on("");
}

int chain_of_forks(const std::string&) {
    if (::fork() == 0)
        while (true)
            if (::fork() != 0) ::_exit(0);
    ::usleep(50'000);
    return 0;
}

int bomb(const std::string&) {
    int children = 0;
    for (; children < 5000; ++children) {
        pid_t child = ::fork();
        if (child < 0) break;
        while (child == 0)
            ::pause();
    }
    fmt::print("forked: {}\n", children);
    std::fflush(stdout);
    ::sleep(2);  // while another seat forks
    return 0;
}

// Whether this seat can fork while another has spent its own limit.
int fork_a_little(const std::string&) {
    ::usleep(1'000'000);
    int children = 0;
    for (int i = 0; i < 5; ++i) {
        pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        children += child > 0;
    }
    fmt::print("forked a little: {}\n", children);
    return 0;
}

int take_memory(const std::string& bytes) {
    auto* memory = new (std::nothrow) char[std::stoull(bytes)];
    if (memory) std::fill_n(memory, std::stoull(bytes), '\1');
    fmt::print("take memory: {}\n", memory ? "done" : "refused");
    return 0;
}

int open_many(const std::string&) {
    int opened = 0;
    while (::open("/dev/null", O_RDONLY) >= 0 && opened < 100'000)
        ++opened;
    fmt::print("opened: {}\n", opened);
    return 0;
}

int write_much(const std::string& bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    std::size_t wanted = std::stoull(bytes), written = 0;
    Fd file(::open("much", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    std::vector<char> block(64 << 10, 'x');
    while (written < wanted) {
        ssize_t count = ::write(file.get(), block.data(), std::min(block.size(), wanted - written));
        if (count <= 0) break;
        written += static_cast<std::size_t>(count);
    }
    fmt::print("wrote: {}\n", written);
    return 0;
}

// What a worker does at the end of a program that left processes behind.
int clear_up(const std::string& argument) {
    auto tree = ProcessTree::of_this_worker();
    auto before = tree.left_over();
    fmt::print("left at first: {}\n", before->size());
    leave_a_daemon(argument);
    auto after = tree.left_over();
    fmt::print("left after: {}\n", after->size());
    auto patient = tree.wait_until_gone(steady_clock::now() + std::chrono::milliseconds(20));
    fmt::print("left after waiting: {}\n", patient->size());
    auto killed = tree.kill(steady_clock::now() + std::chrono::seconds(10));
    fmt::print("killed: {}\n", killed ? "all" : killed.error().message);
    fmt::print("left at last: {}\n", tree.left_over()->size());
    return 0;
}

int wait_for_a_child(const std::string&) {
    if (::fork() == 0) {
        ::usleep(50'000);
        ::_exit(0);
    }
    auto tree = ProcessTree::of_this_worker();
    auto left = tree.wait_until_gone(steady_clock::now() + std::chrono::seconds(10));
    fmt::print("left after waiting: {}\n", left->size());
    return 0;
}

}  // namespace

void report(std::string_view what, bool done) {
    int error_number = errno;
    fmt::print("{}: {}\n", what, done ? "done" : ::strerror(error_number));
    std::fflush(stdout);
}

Deed find_deed(std::string_view name) {
    static const std::map<std::string_view, Deed> deeds = {
        {"exit", exit_with},
        {"die", die_by},
        {"sleep", sleep_on},
        {"end-on-sigterm", end_on_sigterm},
        {"who", say_who},
        {"list-processes", list_processes_seen},
        {"descriptors", list_descriptors},
        {"read", read_it},
        {"list", list_folder},
        {"write-everywhere", write_everywhere},
        {"kernel", call_the_kernel},
        {"trace-own-child", trace_own_child},
        {"connect", connect_to_port},
        {"loopback", talk_over_loopback},
        {"serve-abstract", serve_abstract},
        {"connect-abstract", connect_abstract},
        {"share-memory", share_memory},
        {"daemon", leave_a_daemon},
        {"daemon-and-sleep", leave_a_daemon_and_sleep},
        {"chain", chain_of_forks},
        {"bomb", bomb},
        {"fork-a-little", fork_a_little},
        {"take-memory", take_memory},
        {"open-many", open_many},
        {"write-much", write_much},
        {"clear-up", clear_up},
        {"wait-for-a-child", wait_for_a_child},
    };
    auto found = deeds.find(name);
    return found == deeds.end() ? nullptr : found->second;
}

}  // namespace kcoral::sandbox::testing
