// Policy: everything that decides what workers in the sandbox can see and use.
//
// A plain value: the same policy gives the same bubblewrap command on the same host.
#pragma once

#include "sandbox/limits.hpp"
#include "sandbox/python_environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

struct Policy {
    std::string bubblewrap = "bwrap";
    PythonEnvironment python;
    // The folder on the host that holds every workspace and nothing else of the host's. Ours.
    std::string workspaces;
    // What the operator shows to workers besides: `--sandbox-readonly-path`.
    std::vector<std::string> readonly_paths;
    // GPU device nodes, and where the driver's and the toolkit's files lie outside /usr.
    std::vector<std::string> devices;
    std::vector<std::string> driver_paths;
    // Whether the server runs as root, which bubblewrap does without a user namespace.
    bool root = false;
    SeatLimits limits;

    bool operator==(const Policy&) const = default;
};

// One "name: value" a line.
std::string to_string(const Policy& policy);

// A policy's mistakes that can be told before anything runs: a relative or missing path, "/" shown
// whole, a home folder.
Result<void> check(const Policy& policy);

// What a server with GPUs adds: the device nodes of the GPUs `indices` and of the driver, and the
// folders of driver and toolkit, as far as they exist below `root`.
struct GpuFiles {
    std::vector<std::string> devices;
    std::vector<std::string> driver_paths;
};
GpuFiles find_gpu_files(const std::vector<int>& indices, const std::string& root = "/");

}  // namespace kcoral::sandbox
