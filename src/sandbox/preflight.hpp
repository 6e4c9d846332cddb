// preflight: whether the sandbox works on this host, found out by running the real thing.
//
//   server ──▶ bubblewrap of the policy ──▶ probe ──▶ a seat ──▶ checks, then the worker's Python
#pragma once

#include "sandbox/diagnosis.hpp"
#include "sandbox/policy.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kcoral::sandbox {

// How the calling program starts itself again as the probe: it must hand over to run_probe() when
// it is given these arguments.
struct ProbeCommand {
    std::string program;                 // absolute
    std::vector<std::string> arguments;  // "sandbox-probe"; the path of Python is added last
};

// Nothing when the sandbox works, else why not. Blocks, `limit` at most. `root` is where the
// host's settings are read for a diagnosis.
std::optional<Diagnosis> preflight(const Policy& policy, const ProbeCommand& probe,
                                   std::chrono::seconds limit = std::chrono::seconds(10),
                                   const std::string& root = "/");

// The probe, inside bubblewrap: launches a seat as the zygote would and checks in its worker what
// users are promised. The exit code for main(); what failed is on standard output.
int run_probe(const std::string& python);

}  // namespace kcoral::sandbox
