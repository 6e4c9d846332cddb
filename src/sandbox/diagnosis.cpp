// The table of known causes.
#include "sandbox/diagnosis.hpp"

#include "base/fd.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace kcoral::sandbox {
namespace {

bool setting_is(const std::string& root, const char* path, std::string_view value) {
    auto text = read_file(root + path);
    return text && std::string_view(*text).starts_with(value);
}

struct Known {
    // The cause holds when this setting is on (null: whatever the settings) ...
    bool HostFacts::* fact;
    // ... and one of these was said (none: whatever was said).
    std::vector<std::string_view> words;
    const char* cause;
    const char* remedy;
};

const std::vector<std::string_view> refused_namespace = {"No permissions to create",
                                                         "Creating new namespace failed",
                                                         "setting up uid map",
                                                         "RTM_NEWADDR",
                                                         "making the seat's namespaces",
                                                         "making a user namespace",
                                                         "raising the loopback interface"};

const std::vector<std::string_view> refused_proc = {"mount proc", "mounting /proc"};

const Known known[] = {
    {nullptr,
     {"is not installed"},
     "bubblewrap (bwrap) is not installed",
     "Install the package bubblewrap."},
    {&HostFacts::user_namespaces_off, refused_namespace,
     "the kernel forbids user namespaces to plain users (kernel.unprivileged_userns_clone is 0)",
     "Run `sysctl -w kernel.unprivileged_userns_clone=1`, or start the server as root."},
    {&HostFacts::no_user_namespaces, refused_namespace,
     "the kernel allows no user namespaces (user.max_user_namespaces is 0)",
     "Run `sysctl -w user.max_user_namespaces=65536`."},
    {&HostFacts::no_network_namespaces, refused_namespace,
     "the kernel allows no network namespaces (user.max_net_namespaces is 0)",
     "Run `sysctl -w user.max_net_namespaces=65536`."},
    {&HostFacts::apparmor_restricts, refused_namespace,
     "AppArmor forbids user namespaces to plain users "
     "(kernel.apparmor_restrict_unprivileged_userns is 1)",
     "Run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or load an AppArmor profile "
     "that lets bwrap and what runs in it use them (`profile bwrap /usr/bin/bwrap "
     "flags=(unconfined) { userns, }`), or start the server as root."},
    {nullptr,
     {"No space left on device"},
     "a limit on the number of namespaces is reached (sysctl user.max_*_namespaces)",
     "Raise user.max_user_namespaces, user.max_net_namespaces and their like."},
    {&HostFacts::in_container, refused_proc,
     "this container hides parts of /proc, so the kernel refuses a fresh /proc inside it",
     "Start the container with `--security-opt systempaths=unconfined` (Podman: `--security-opt "
     "unmask=ALL`)."},
    {nullptr, refused_proc, "a fresh /proc cannot be mounted",
     "Unmount what is mounted over parts of /proc (see /proc/self/mountinfo)."},
    {&HostFacts::in_container, refused_namespace, "this container forbids making namespaces",
     "Start the container with `--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt "
     "seccomp=unconfined --security-opt apparmor=unconfined`."},
    {nullptr, refused_namespace, "the kernel or a security module forbids making namespaces",
     "See `bwrap --unshare-all --ro-bind / / true` and the kernel's log."},
    {nullptr,
     {"Python cannot be started"},
     "the Python environment cannot be used inside the sandbox",
     "Make its files readable for every user (`chmod -R a+rX`), and show what lies elsewhere with "
     "--sandbox-readonly-path."},
};

bool applies(const Known& entry, std::string_view said, const HostFacts& facts) {
    auto was_said = [&](std::string_view word) { return said.find(word) != said.npos; };
    return (!entry.fact || facts.*entry.fact) &&
           (entry.words.empty() || std::ranges::any_of(entry.words, was_said));
}

std::string_view last_line(std::string_view text) {
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    return text.substr(text.rfind('\n') + 1);
}

}  // namespace

HostFacts read_host_facts(const std::string& root) {
    std::error_code error;
    HostFacts facts;
    facts.user_namespaces_off = setting_is(root, "/proc/sys/kernel/unprivileged_userns_clone", "0");
    facts.no_user_namespaces = setting_is(root, "/proc/sys/user/max_user_namespaces", "0");
    facts.no_network_namespaces = setting_is(root, "/proc/sys/user/max_net_namespaces", "0");
    facts.apparmor_restricts =
        setting_is(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
    facts.in_container = std::filesystem::exists(root + "/.dockerenv", error) ||
                         std::filesystem::exists(root + "/run/.containerenv", error);
    facts.root = ::geteuid() == 0;
    return facts;
}

Diagnosis diagnose(std::string_view said, const HostFacts& facts) {
    std::string_view detail = last_line(said);
    for (const Known& entry : known)
        if (applies(entry, said, facts))
            return {detail.empty() ? entry.cause : fmt::format("{} ({})", entry.cause, detail),
                    entry.remedy};
    return {detail.empty() ? "bubblewrap ended without saying why" : std::string(detail),
            "Mend that, or choose --sandbox none to run programs without a sandbox."};
}

}  // namespace kcoral::sandbox
