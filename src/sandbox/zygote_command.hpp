// zygote_command: the bubblewrap command that starts the zygote under a policy.
//
// Inside, the zygote sees the system's runtime, the Python environment and what the policy names,
// all read-only, a minimal /dev and no network. It alone keeps the few capabilities that making
// seats takes; every seat then gives them up, see seat_entry.cpp. Host paths keep their names, but
// for the workspaces, which lie in `zygote_workspaces`.
#pragma once

#include "base/error.hpp"
#include "sandbox/policy.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

// Where the zygote sees the policy's workspaces: what to give SeatLauncher::create, and with a
// workspace's name SeatSpec::workspace.
constexpr std::string_view zygote_workspaces = "/workspaces";

// Writes the few files of /etc that workers get instead of the host's, into the policy's
// workspaces folder. Once, before the command is first used.
Result<void> write_system_files(const Policy& policy);

// The command line that runs `program` (the interpreter and its arguments) in the sandbox. It
// hands on every descriptor it is given.
std::vector<std::string> zygote_command(const Policy& policy,
                                        const std::vector<std::string>& program);

}  // namespace kcoral::sandbox
