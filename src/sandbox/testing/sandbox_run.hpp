// SandboxRun: misbehaving_worker in the real sandbox, or without one, as root or as a plain user.
//
// Where the tests run as a plain user there is no root to be; what this host cannot do at all is
// said by why_impossible(), for tests to skip by name.
#pragma once

#include "base/process.hpp"
#include "sandbox/policy.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox::testing {

enum class Who { root, plain_user };
enum class Where {
    sandbox,  // bubblewrap of the policy, seats of Isolation::sandbox
    host,     // no sandbox: Isolation::process_tree
    barred,   // no sandbox, where making namespaces is forbidden: Isolation::session
};

std::string to_string(Who who);
std::string to_string(Where where);

class SandboxRun {
  public:
    SandboxRun(Who who, Where where);
    // Removes its folder; whatever still runs is killed.
    ~SandboxRun();

    // Empty when it can be; else which feature is missing.
    std::string why_impossible() const;

    const std::string& workspaces() const { return workspaces_; }
    Policy& policy() { return policy_; }
    // The policy's own command that runs misbehaving_worker with these words.
    std::vector<std::string> command(const std::vector<std::string>& words) const;

    // Starts it; what it prints can be read from output().
    void start(const std::vector<std::string>& words);
    // Waits for a line that begins so, and gives it; "" when output ended without.
    std::string wait_for_line(std::string_view beginning);
    // All that is printed until the last process that holds the output is dead.
    std::string read_all();
    // The cause that preflight() names when the user in question calls it; "" when it passes.
    std::string preflight(const Policy& policy) const;
    Process& process() { return process_; }

    std::string run(const std::vector<std::string>& words) {
        start(words);
        return read_all();
    }

  private:
    bool read_some();

    Who who_;
    Where where_;
    std::string folder_;
    std::string workspaces_;
    Policy policy_;
    Process process_;
    Fd output_;
    std::string read_;
};

}  // namespace kcoral::sandbox::testing
