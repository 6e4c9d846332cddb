// SeccompFilter: the system calls a program in the sandbox may not make.
//
// A second wall behind the namespaces and the empty capability sets: it keeps programs away from
// the parts of the kernel that nothing they need lives in. Denied calls answer EPERM; clone3, whose
// flags no filter can see, answers ENOSYS, upon which the C library uses clone. ptrace stays: the
// PID namespace bounds it, and debuggers and profilers need it.
#pragma once

#include "base/error.hpp"

#include <linux/filter.h>

#include <string_view>
#include <vector>

namespace kcoral::sandbox {

class SeccompFilter {
  public:
    // Compiles the filter for this machine.
    static Result<SeccompFilter> compile();

    // Puts the calling thread and what it starts under the filter, for good. It must have
    // no_new_privs set.
    Result<void> install() const;

  private:
    explicit SeccompFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}
    std::vector<sock_filter> program_;
};

}  // namespace kcoral::sandbox
