// From options to a policy, and from a policy to the zygote's command.
#include "server/worker_sandbox.hpp"

#include "sandbox/policy.hpp"
#include "sandbox/preflight.hpp"
#include "sandbox/worker_environment.hpp"
#include "sandbox/zygote_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <filesystem>

namespace kcoral::server {
namespace {

sandbox::Environment own_environment() {
    sandbox::Environment variables;
    for (char** variable = environ; *variable; ++variable)
        variables.emplace_back(*variable);
    return variables;
}

Result<sandbox::Policy> policy_of(const ServerOptions& options, const std::string& python,
                                  const std::string& workspaces) {
    sandbox::Policy policy;
    TRY_ASSIGN(policy.python, sandbox::find_python_environment(python));
    policy.workspaces = workspaces;
    policy.readonly_paths = options.sandbox_readonly_paths;
    policy.root = ::geteuid() == 0;
    policy.limits = options.seat_limits;
    return policy;
}

std::vector<std::string> zygote_program(const ServerOptions& options, const std::string& python,
                                        const std::string& workspaces, bool sandboxed) {
    std::vector<std::string> program = {python, "-m", "kcoral._worker", "--workspaces", workspaces};
    if (sandboxed) program.push_back("--sandboxed");
    if (!options.preload.empty()) {
        program.push_back("--preload");
        program.push_back(fmt::format("{}", fmt::join(options.preload, ",")));
    }
    program.push_back("--limits");
    program.push_back(sandbox::to_string(options.seat_limits));
    program.push_back("--channel");
    return program;
}

std::optional<sandbox::Diagnosis> try_sandbox(const sandbox::Policy& policy) {
    std::error_code ignored;
    sandbox::ProbeCommand probe{std::filesystem::read_symlink("/proc/self/exe", ignored),
                                {"sandbox-probe"}};
    return sandbox::preflight(policy, probe);
}

}  // namespace

Result<WorkerSandbox> prepare_sandbox(const ServerOptions& options, const std::string& python,
                                      const std::string& workspaces) {
    TRY_ASSIGN(sandbox::Policy policy, policy_of(options, python, workspaces));
    WorkerSandbox made;
    if (options.sandbox != Sandbox::none) {
        TRY(sandbox::check(policy));
        TRY(sandbox::write_system_files(policy));
        made.refused = try_sandbox(policy);
        made.active = !made.refused;
    }
    if (made.refused && options.sandbox == Sandbox::required)
        return failure(ErrorCode::unavailable,
                       fmt::format("--sandbox is required, but {}. {}", made.refused->cause,
                                   made.refused->remedy));
    sandbox::Environment environment = own_environment();
    made.zygote.environment = sandbox::worker_environment(policy, environment, made.active,
                                                          sandbox::find_cuda_home(environment));
    made.zygote_workspaces = made.active ? std::string(sandbox::zygote_workspaces) : workspaces;
    made.zygote.arguments =
        zygote_program(options, policy.python.executable, made.zygote_workspaces, made.active);
    if (made.active) made.zygote.arguments = sandbox::zygote_command(policy, made.zygote.arguments);
    return made;
}

}  // namespace kcoral::server
