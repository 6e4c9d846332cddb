// Diagnosis: from what a failed sandbox said and what the kernel is set to, to a cause and a
// remedy.
#pragma once

#include <string>
#include <string_view>

namespace kcoral::sandbox {

// Settings of the host that decide whether a sandbox can be made.
struct HostFacts {
    bool user_namespaces_off = false;    // kernel.unprivileged_userns_clone=0 (Debian)
    bool no_user_namespaces = false;     // user.max_user_namespaces=0
    bool no_network_namespaces = false;  // user.max_net_namespaces=0
    bool apparmor_restricts = false;     // kernel.apparmor_restrict_unprivileged_userns=1
    bool in_container = false;           // Docker's or Podman's mark
    bool root = false;

    bool operator==(const HostFacts&) const = default;
};

// Reads them below `root`.
HostFacts read_host_facts(const std::string& root = "/");

struct Diagnosis {
    std::string cause;   // a clause: "AppArmor forbids unprivileged user namespaces"
    std::string remedy;  // an imperative sentence

    bool operator==(const Diagnosis&) const = default;
};

// `said` is what bubblewrap or the probe in it printed before it failed.
Diagnosis diagnose(std::string_view said, const HostFacts& facts);

}  // namespace kcoral::sandbox
