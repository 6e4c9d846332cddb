// What a seat costs, and each namespace, mount and filter of it, as one process after the other.
//
//   bench_seat_cost [ROUNDS [RESIDENT_MIB]]
//
// Runs itself in the sandbox, as the zygote would, with so much memory resident as an interpreter
// with its libraries has. Each line is the median of ROUNDS forks, and how much that is above a
// bare fork; "seat" is the whole: from the launch until init is reaped.
#include "base/process.hpp"
#include "base/remove_tree.hpp"
#include "sandbox/privileges.hpp"
#include "sandbox/seat.hpp"
#include "sandbox/seccomp_filter.hpp"
#include "sandbox/zygote_command.hpp"

#include <climits>
#include <fmt/format.h>

#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace {

using namespace kcoral;
using namespace kcoral::sandbox;
using Clock = std::chrono::steady_clock;

double median_microseconds(int rounds, const std::function<void()>& round) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        auto start = Clock::now();
        round();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[rounds / 2];
}

void must(bool done, const char* what) {
    if (done) return;
    perror(what);
    ::_exit(1);
}

void raise_loopback() {
    Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    must(::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "loopback");
}

void mount_one(const char* source, const char* target, const char* type, unsigned long flags) {
    must(::unshare(CLONE_NEWNS) == 0, "mount namespace");
    must(::mount(source, target, type, flags, nullptr) == 0, target);
}

struct Step {
    const char* name;
    int clone_flags;
    std::function<void()> act;
};

double cost_of(const Step& step, int rounds) {
    return median_microseconds(rounds, [&] {
        pid_t child = ::fork();
        if (child == 0) {
            if (step.clone_flags) must(::unshare(step.clone_flags) == 0, step.name);
            if (step.act) step.act();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        must(status == 0, step.name);
    });
}

double cost_of_seat(const SeatLauncher& launcher, const SeatLimits& limits, int rounds) {
    Fd output(::dup(2));
    static int number = 0;
    return median_microseconds(rounds, [&] {
        std::string workspace = fmt::format("{}/w{}", zygote_workspaces, number++);
        must(::mkdir(workspace.c_str(), 0700) == 0, "workspace");
        auto exit = make_pipe();
        SeatSpec spec;
        spec.workspace = workspace;
        spec.limits = limits;
        spec.standard_output = spec.standard_error = &output;
        spec.exit_pipe = &exit->second;
        auto seat = launcher.launch(spec, [] { return 0; });
        must(seat.has_value(), "seat");
        ::waitpid(seat->init_pid, nullptr, 0);
    });
}

int measure(int rounds, std::size_t resident) {
    auto launcher = SeatLauncher::create(true, std::string(zygote_workspaces));
    if (!launcher) {
        fmt::print("{}\n", launcher.error().message);
        return 1;
    }
    if (resident) {
        std::size_t size = resident << 20;
        void* memory =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ::madvise(memory, size, MADV_NOHUGEPAGE);  // as an interpreter's small objects
        memset(memory, 1, size);
    }
    auto filter = SeccompFilter::compile();
    const Step steps[] = {
        {"mount namespace", CLONE_NEWNS, {}},
        {"IPC namespace", CLONE_NEWIPC, {}},
        {"network namespace", CLONE_NEWNET, {}},
        {"network namespace, loopback up", CLONE_NEWNET, raise_loopback},
        {"user namespace", 0, [] { must(enter_user_namespace().has_value(), "user"); }},
        {"mount namespace, bind mount", 0,
         [] { mount_one("/workspaces", "/work", nullptr, MS_BIND); }},
        {"mount namespace, tmpfs", 0, [] { mount_one("tmpfs", "/work", "tmpfs", 0); }},
        {"mount namespace, proc", 0, [] { mount_one("proc", "/proc", "proc", 0); }},
        {"empty capability sets", 0, [] { must(drop_capabilities().has_value(), "drop"); }},
        {"seccomp filter", 0,
         [&] {
             ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
             must(filter->install().has_value(), "filter");
         }},
        {"a second fork", 0,
         [] {
             if (::fork() == 0) ::_exit(0);
             ::wait(nullptr);
         }},
    };
    double floor = cost_of({"fork", 0, {}}, rounds);
    fmt::print("{:36} {:8.0f} us\n", "bare fork", floor);
    for (const Step& step : steps) {
        double cost = cost_of(step, rounds);
        fmt::print("{:36} {:8.0f} us  {:+8.0f}\n", step.name, cost, cost - floor);
    }
    SeatLimits in_memory;
    in_memory.workspace_size = 1 << 30;
    for (const auto& [name, limits] :
         {std::pair("seat", SeatLimits()), std::pair("seat, workspace in memory", in_memory)}) {
        double cost = cost_of_seat(*launcher, limits, rounds);
        fmt::print("{:36} {:8.0f} us  {:+8.0f}\n", name, cost, cost - floor);
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 4 && std::string_view(words[3]) == "inside")
        return measure(std::stoi(words[1]), std::stoul(words[2]));
    std::string folder = "/tmp/kcoral-seat-cost-XXXXXX";
    must(::mkdtemp(folder.data()) != nullptr, "mkdtemp");
    char self[PATH_MAX];
    must(::realpath("/proc/self/exe", self) != nullptr, "realpath");
    Policy policy;
    policy.workspaces = folder;
    policy.readonly_paths = {self};
    policy.root = ::geteuid() == 0;
    must(write_system_files(policy).has_value(), "write_system_files");
    auto command = zygote_command(
        policy, {self, count > 1 ? words[1] : "300", count > 2 ? words[2] : "0", "inside"});
    auto process = Process::spawn({.arguments = command, .environment = {"PATH=/usr/bin:/bin"}});
    must(process.has_value(), "bwrap");
    bool success = process->wait().success();
    must(remove_tree(folder).has_value(), "remove_tree");
    return success ? 0 : 1;
}
