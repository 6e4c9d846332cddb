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

// "PID (name) S PPID ...", where the name may hold anything, parentheses too.
bool parse_stat(char* text, ScannedProcess& process) {
    char* open = strchr(text, '(');
    char* close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || !close[2]) return false;
    *close = '\0';
    strncpy(process.name, open + 1, sizeof process.name - 1);
    process.name[sizeof process.name - 1] = '\0';
    process.state = close[2];
    process.parent = static_cast<pid_t>(strtol(close + 3, nullptr, 10));
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

// Signals the descendants that live and says how many there are.
std::size_t signal_descendants(const char* proc, Scan& scan, const pid_t* spared,
                               std::size_t spared_count, int number) {
    ssize_t found = scan_processes(proc, scan.processes, most_processes);
    scan.count = found < 0 ? 0 : static_cast<std::size_t>(found);
    for (std::size_t i = 0; i < scan.count; ++i)
        for (std::size_t j = 0; j < spared_count; ++j)
            if (scan.processes[i].pid == spared[j])
                scan.processes[i].parent = 0;  // cut off, with all below it
    mark_descendants(scan.processes, scan.count, getpid());
    std::size_t alive = 0;
    for (std::size_t i = 0; i < scan.count; ++i) {
        if (!scan.processes[i].descendant || !scan.processes[i].alive()) continue;
        ++alive;
        kill(scan.processes[i].pid, number);
    }
    return alive;
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
    // A stopped process forks no more: stop them until no new ones appear, then kill.
    std::size_t stopped = 0;
    for (std::size_t before = ~std::size_t{0}; before != stopped;) {
        before = stopped;
        stopped = signal_descendants(proc, scan, spared, spared_count, SIGSTOP);
    }
    std::size_t alive = signal_descendants(proc, scan, spared, spared_count, SIGKILL);
    if (alive > 0) {
        timespec moment{0, 1'000'000};  // for the killed to die
        nanosleep(&moment, nullptr);
    }
    for (std::size_t i = 0; i < scan.count; ++i)
        if (scan.processes[i].descendant) waitpid(scan.processes[i].pid, nullptr, WNOHANG);
    free(scan.processes);
    return alive;
}

}  // namespace kcoral::sandbox
