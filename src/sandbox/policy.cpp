// Printing and checking policies, finding a GPU's files.
#include "sandbox/policy.hpp"

#include "sandbox/paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace kcoral::sandbox {
namespace fs = std::filesystem;
namespace {

Result<void> check_readable(const std::string& path) {
    if (!path.starts_with('/'))
        return failure(ErrorCode::bad_request,
                       fmt::format("the sandbox path {} is not absolute", path));
    if (fs::path(path).lexically_normal() == "/")
        return failure(ErrorCode::bad_request, "the whole of / cannot be shown to the sandbox");
    if (std::error_code error; !fs::exists(path, error))
        return failure(ErrorCode::not_found,
                       fmt::format("the sandbox path {} does not exist", path));
    return {};
}

// Drivers and tools outside /usr, as containers and installers place them.
constexpr const char* driver_folders[] = {"/usr/local/nvidia",  "/opt/nvidia",  "/opt/cuda",
                                          "/run/nvidia/driver", "/etc/OpenCL",  "/etc/nvidia",
                                          "/sys/bus/pci",       "/sys/devices", "/sys/module"};

constexpr const char* driver_devices[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                          "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
                                          "/dev/nvidia-caps"};

}  // namespace

std::string to_string(const Policy& policy) {
    return fmt::format(
        "bubblewrap: {}\npython: {}\npython paths: {}\nworkspaces: {}\nreadonly paths: {}\n"
        "devices: {}\ndriver paths: {}\nroot: {}\nlimits: {}\n",
        policy.bubblewrap, policy.python.executable, fmt::join(policy.python.paths, " "),
        policy.workspaces, fmt::join(policy.readonly_paths, " "), fmt::join(policy.devices, " "),
        fmt::join(policy.driver_paths, " "), policy.root, to_string(policy.limits));
}

Result<void> check(const Policy& policy) {
    for (const std::string& path : policy.readonly_paths)
        TRY(check_readable(path));
    TRY(check_readable(policy.workspaces));
    for (const std::string& path : policy.python.paths)
        if (lies_in(path, policy.workspaces))
            return failure(ErrorCode::bad_request,
                           fmt::format("the Python environment {} lies in the workspace folder {}: "
                                       "choose another workspace folder",
                                       path, policy.workspaces));
    return {};
}

GpuFiles find_gpu_files(const std::vector<int>& indices, const std::string& root) {
    GpuFiles files;
    auto add = [&](std::vector<std::string>& list, const std::string& path) {
        std::error_code error;
        if (fs::exists(root + path, error)) list.push_back(path);
    };
    for (int index : indices)
        add(files.devices, fmt::format("/dev/nvidia{}", index));
    for (const char* device : driver_devices)
        add(files.devices, device);
    for (const char* folder : driver_folders)
        add(files.driver_paths, folder);
    return files;
}

}  // namespace kcoral::sandbox
