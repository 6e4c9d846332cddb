// The init of a seat: a program of its own, linked statically and carried inside the library.
//
// Started by the launcher as `kcoral-init WORKER tree|session` with every signal blocked, the exit
// pipe as descriptor 3 and no other. Reaps, forwards SIGTERM, and ends with the worker.
#include "sandbox/process_scan.hpp"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr int exit_pipe = 3;

// Whether the worker was among those that ended.
bool reap(pid_t worker, int& worker_status) {
    bool worker_ended = false;
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != worker) continue;
        worker_ended = true;
        worker_status = status;
    }
    return worker_ended;
}

void kill_session() {
    while (kcoral::sandbox::kill_descendants("/proc", nullptr, 0) > 0) {
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    pid_t worker = static_cast<pid_t>(strtol(arguments[1], nullptr, 10));
    bool session = strcmp(arguments[2], "session") == 0;
    prctl(PR_SET_NAME, "kcoral-init");
    prctl(PR_SET_DUMPABLE, 0);  // the worker must not trace or read us

    signal(SIGCHLD, SIG_DFL);  // ignored, it would never come
    sigset_t all;
    sigfillset(&all);
    int worker_status = 0;
    while (!reap(worker, worker_status)) {
        switch (sigwaitinfo(&all, nullptr)) {
            case SIGTERM:
                kill(worker, SIGTERM);
                break;
            case SIGHUP:  // in a session, what the kernel sends when the zygote has died
                if (!session) break;
                kill_session();
                return 1;
            default:
                break;
        }
    }
    // In a PID namespace our end takes everyone along.
    if (session) kill_session();
    [[maybe_unused]] auto ignored = write(exit_pipe, &worker_status, sizeof worker_status);
    return 0;
}
