// The surroundings workers get: in bubblewrap where it can be had, and how the zygote is started
// there.
#pragma once

#include "base/error.hpp"
#include "engine/zygote.hpp"
#include "sandbox/diagnosis.hpp"
#include "server/options.hpp"

#include <optional>
#include <string>

namespace kcoral::server {

struct WorkerSandbox {
    bool active = false;
    // Why there is none although it was wanted.
    std::optional<sandbox::Diagnosis> refused;
    engine::ZygoteCommand zygote;
    std::string zygote_workspaces;  // the folder of workspaces as the zygote sees it
};

// Tries the sandbox with the real policy (10 s at most; blocking). `bad_request` when the options
// make no policy, `unavailable` when a sandbox is required and cannot be had.
Result<WorkerSandbox> prepare_sandbox(const ServerOptions& options, const std::string& python,
                                      const std::string& workspaces);

}  // namespace kcoral::server
