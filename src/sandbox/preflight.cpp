// Running the probe under a deadline.
#include "sandbox/preflight.hpp"

#include "base/process.hpp"
#include "sandbox/worker_environment.hpp"
#include "sandbox/zygote_command.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace kcoral::sandbox {
namespace {

// The program's absolute path; empty where there is none.
std::string find_program(const std::string& name) {
    if (name.find('/') != name.npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::string_view folders = path ? path : "/usr/bin:/bin";
    while (true) {
        std::string_view folder = folders.substr(0, folders.find(':'));
        std::string candidate = fmt::format("{}/{}", folder, name);
        if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
        if (folder.size() == folders.size()) return "";
        folders.remove_prefix(folder.size() + 1);
    }
}

Environment own_environment() {
    Environment variables;
    for (char** variable = environ; *variable; ++variable)
        variables.emplace_back(*variable);
    return variables;
}

Diagnosis from(Error error) {
    return {std::move(error.message), "Mend that, or choose --sandbox none."};
}

bool ends_within(const Process& process, std::chrono::seconds limit) {
    pollfd ended{process.pidfd().get(), POLLIN, 0};
    auto milliseconds = std::chrono::milliseconds(limit);
    return ::poll(&ended, 1, static_cast<int>(milliseconds.count())) == 1;
}

}  // namespace

std::optional<Diagnosis> preflight(const Policy& policy, const ProbeCommand& probe,
                                   std::chrono::seconds limit, const std::string& root) {
    HostFacts facts = read_host_facts(root);
    if (find_program(policy.bubblewrap).empty())
        return diagnose(policy.bubblewrap + " is not installed", facts);
    if (auto checked = check(policy); !checked) return from(std::move(checked).error());
    if (auto written = write_system_files(policy); !written)
        return from(std::move(written).error());

    Policy shown = policy;
    shown.readonly_paths.push_back(probe.program);
    std::vector<std::string> program = {probe.program};
    program.insert(program.end(), probe.arguments.begin(), probe.arguments.end());
    program.push_back(policy.python.executable);
    auto output = make_memory_file("preflight");
    if (!output) return from(std::move(output).error());
    SpawnOptions options;
    options.arguments = zygote_command(shown, program);
    options.environment = worker_environment(policy, own_environment(), true, "");
    options.descriptors = {{&*output, 1}, {&*output, 2}};
    options.new_session = true;
    options.die_with_parent = true;
    auto process = Process::spawn(options);
    if (!process) return from(std::move(process).error());
    if (!ends_within(*process, limit))
        return Diagnosis{fmt::format("the sandbox did not start within {} seconds", limit.count()),
                         "Look for a stuck file system among the paths shown to the sandbox."};
    WaitStatus status = process->wait();
    if (status.success()) return std::nullopt;
    auto said = read_file(*output);
    return diagnose(said ? *said : status.describe(), facts);
}

}  // namespace kcoral::sandbox
