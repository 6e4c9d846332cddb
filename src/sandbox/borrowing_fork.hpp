// borrowing_fork: vfork(2) with a choice of namespaces.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <cerrno>

namespace kcoral::sandbox {

// Runs `child`, which must not return, in a new process that borrows the caller's memory and
// stack; the caller stands still until that process calls exec or ends. `flags` (CLONE_NEW...) are
// the namespaces it starts in. -1 with errno on failure.
//
// As with vfork, the child may change nothing the caller relies on but through `argument`. The
// system call is made in place: by way of the C library's clone the child could not stay on the
// caller's stack, where the interpreter in a worker wants to be.
template <typename Argument>
[[gnu::noinline]] pid_t borrowing_fork(unsigned long flags, void (*child)(Argument&),
                                       Argument& argument) {
    flags |= CLONE_VM | CLONE_VFORK | SIGCHLD;
#if defined(__x86_64__)
    long result;
    register long no_thread_area asm("r8") = 0;
    register long no_child_id asm("r10") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(SYS_clone), "D"(flags), "S"(0L), "d"(0L), "r"(no_child_id),
                   "r"(no_thread_area)
                 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long number asm("x8") = SYS_clone;
    register long result asm("x0") = static_cast<long>(flags);
    register long same_stack asm("x1") = 0;
    register long no_parent_id asm("x2") = 0;
    register long no_thread_area asm("x3") = 0;
    register long no_child_id asm("x4") = 0;
    asm volatile("svc 0"
                 : "+r"(result)
                 : "r"(number), "r"(same_stack), "r"(no_parent_id), "r"(no_thread_area),
                   "r"(no_child_id)
                 : "memory");
#else
#error "borrowing_fork is written for x86-64 and AArch64"
#endif
    if (result == 0) {
        child(argument);
        __builtin_trap();
    }
    if (result < 0) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return static_cast<pid_t>(result);
}

}  // namespace kcoral::sandbox
