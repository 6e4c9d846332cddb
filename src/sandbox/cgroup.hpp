// Cgroups of seats (version 2): memory and processes of a whole seat, where the system delegated a
// cgroup to the server.
//
// The server moves itself into a leaf of its cgroup and makes one leaf a seat beside it; the
// seat's init enters its leaf through an opened `cgroup.procs`, which works from any namespace.
// Loop thread only; every call is a few small writes.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "sandbox/limits.hpp"

#include <string>

namespace kcoral::sandbox {

// One seat's cgroup, removed with this object; whoever is still in it is killed.
class SeatCgroup {
  public:
    SeatCgroup(SeatCgroup&& other) noexcept;
    SeatCgroup& operator=(SeatCgroup&& other) noexcept;
    ~SeatCgroup();

    // For SeatSpec::cgroup.
    const Fd& procs() const { return procs_; }
    // Whether the kernel killed a process in it for want of memory.
    bool ran_out_of_memory() const;

  private:
    friend class SeatCgroups;
    SeatCgroup(std::string path, Fd procs) : path_(std::move(path)), procs_(std::move(procs)) {}
    void remove();

    std::string path_;  // empty once removed or moved from
    Fd procs_;
};

class SeatCgroups {
  public:
    // Moves the calling process into a leaf and readies its cgroup for seats. `unavailable`, with
    // the reason, where no cgroup of version 2 with the memory and pids controllers is delegated.
    // `root` is where the kernel's files are looked for.
    static Result<SeatCgroups> create(const std::string& root = "/");

    // A cgroup for one seat with the limits on memory and processes; `name` is unique.
    Result<SeatCgroup> make(const std::string& name, const SeatLimits& limits) const;

  private:
    explicit SeatCgroups(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

}  // namespace kcoral::sandbox
