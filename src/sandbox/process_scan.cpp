// Reading /proc/PID/stat and killing what descends from a process.
#include "sandbox/process_scan.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace kcoral::sandbox {
namespace {

// "PID (name) S PPID PGRP ...", where the name may hold anything, parentheses too.
bool parse_stat(char* text, ScannedProcess& process) {
    char* open = strchr(text, '(');
    char* close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || !close[2]) return false;
    *close = '\0';
    strncpy(process.name, open + 1, sizeof process.name - 1);
    process.name[sizeof process.name - 1] = '\0';
    process.state = close[2];
    char* rest = close + 3;
    process.parent = static_cast<pid_t>(strtol(rest, &rest, 10));
    process.group = static_cast<pid_t>(strtol(rest, nullptr, 10));
    return true;
}

bool read_stat(int proc, const char* pid, ScannedProcess& process) {
    char path[32];
    if (strlen(pid) > 16) return false;
    strcpy(path, pid);
    strcat(path, "/stat");
    int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;  // it ended meanwhile
    char text[256];
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return false;
    text[size] = '\0';
    process.pid = static_cast<pid_t>(strtol(pid, nullptr, 10));
    process.descendant = false;
    return parse_stat(text, process);
}

constexpr std::size_t most_processes = 1 << 15;  // a session with more takes several rounds

struct Scan {
    ScannedProcess* processes;
    std::size_t count;
};

// Signals the descendants and says how many there are, zombies included.
std::size_t signal_descendants(const char* proc, Scan& scan, const pid_t* spared,
                               std::size_t spared_count, int number) {
    ssize_t found = scan_processes(proc, scan.processes, most_processes);
    scan.count = found < 0 ? 0 : static_cast<std::size_t>(found);
    for (std::size_t i = 0; i < scan.count; ++i)
        for (std::size_t j = 0; j < spared_count; ++j)
            if (scan.processes[i].pid == spared[j])
                scan.processes[i].parent = 0;  // cut off, with all below it
    mark_descendants(scan.processes, scan.count, getpid());
    std::size_t descendants = 0;
    for (std::size_t i = 0; i < scan.count; ++i) {
        const ScannedProcess& process = scan.processes[i];
        if (!process.descendant) continue;
        ++descendants;
        if (process.alive()) kill(process.pid, number);
        // The group at once, so that no member can fork itself out of the way; of the dead, too,
        // who may have forked before. It lies in the session of the one found, but may be ours
        // where that is the same.
        if (process.group > 1 && process.group != getpgrp()) kill(-process.group, number);
    }
    return descendants;
}

}  // namespace

ssize_t scan_processes(const char* proc, ScannedProcess* processes, std::size_t capacity) {
    DIR* directory = opendir(proc);
    if (!directory) return -1;
    std::size_t count = 0;
    while (dirent* entry = readdir(directory)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (count == capacity) break;
        if (read_stat(dirfd(directory), entry->d_name, processes[count])) ++count;
    }
    closedir(directory);
    return static_cast<ssize_t>(count);
}

void mark_descendants(ScannedProcess* processes, std::size_t count, pid_t root) {
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < count; ++i) {
            ScannedProcess& process = processes[i];
            if (process.descendant || process.pid == root) continue;
            bool below = process.parent == root;
            for (std::size_t j = 0; j < count && !below; ++j)
                below = processes[j].descendant && processes[j].pid == process.parent;
            changed |= below;
            process.descendant = below;
        }
    }
}

std::size_t kill_descendants(const char* proc, const pid_t* spared, std::size_t spared_count) {
    Scan scan{};
    scan.processes = static_cast<ScannedProcess*>(calloc(most_processes, sizeof(ScannedProcess)));
    if (!scan.processes) return 1;
    // A stopped process forks no more: stop them until no new ones appear, or nearly so, then kill.
    std::size_t stopped = ~std::size_t{0};
    for (int round = 0; round < 8; ++round) {
        std::size_t before = stopped;
        stopped = signal_descendants(proc, scan, spared, spared_count, SIGSTOP);
        if (stopped == before) break;
    }
    std::size_t found = signal_descendants(proc, scan, spared, spared_count, SIGKILL);
    if (found > 0) {
        timespec moment{0, 1'000'000};  // for the killed to die
        nanosleep(&moment, nullptr);
    }
    for (std::size_t i = 0; i < scan.count; ++i)
        if (scan.processes[i].descendant) waitpid(scan.processes[i].pid, nullptr, WNOHANG);
    free(scan.processes);
    return found;
}

}  // namespace kcoral::sandbox
