// Building the environment of workers from tables.
#include "sandbox/worker_environment.hpp"

#include "sandbox/workspace_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace kcoral::sandbox {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view passed_names[] = {"LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
                                             "CC",   "CXX"};

constexpr std::string_view passed_prefixes[] = {"LC_",      "CUDA_",  "NVIDIA_",   "NCCL_",
                                                "NVSHMEM_", "TORCH_", "PYTORCH_",  "TRITON_",
                                                "OMP_",     "MKL_",   "OPENBLAS_", "NUMEXPR_"};

constexpr std::string_view secret_words[] = {"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL",
                                             "API_KEY"};

// Folders below the workspace's cache folder. torch's inductor keeps its own below TMPDIR.
constexpr std::pair<std::string_view, std::string_view> caches[] = {
    {"XDG_CACHE_HOME", "xdg"},
    {"CUDA_CACHE_PATH", "cuda"},
    {"TRITON_CACHE_DIR", "triton"},
    {"TORCH_EXTENSIONS_DIR", "torch_extensions"},
    {"TORCHINDUCTOR_CACHE_DIR", "torch_inductor"},
    {"TORCH_HOME", "torch"},
    {"TVM_FFI_CACHE_DIR", "tvm_ffi"},
    {"CUTE_DSL_CACHE_DIR", "cute_dsl"},
    {"FLASHINFER_WORKSPACE_BASE", "flashinfer"},
    {"CUPY_CACHE_DIR", "cupy"},
    {"NUMBA_CACHE_DIR", "numba"},
    {"MPLCONFIGDIR", "matplotlib"},
};

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

std::optional<std::string> value_of(const Environment& environment, std::string_view name) {
    for (const std::string& variable : environment)
        if (name_of(variable) == name) return variable.substr(name.size() + 1);
    return std::nullopt;
}

bool is_passed(std::string_view name) {
    auto is_in = [&](std::string_view word) { return name.find(word) != name.npos; };
    auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    auto is_cache = [&](const auto& cache) { return cache.first == name; };
    if (std::ranges::any_of(secret_words, is_in)) return false;
    if (std::ranges::any_of(caches, is_cache)) return false;
    if (name == "CUDA_VISIBLE_DEVICES") return false;  // each worker has its own
    return std::ranges::find(passed_names, name) != std::end(passed_names) ||
           std::ranges::any_of(passed_prefixes, begins);
}

std::string join(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, ":"));
}

std::string search_path(const Policy& policy, std::string_view cuda_home) {
    std::vector<std::string> folders = {fs::path(policy.python.executable).parent_path()};
    if (!cuda_home.empty()) folders.push_back(fmt::format("{}/bin", cuda_home));
    for (const char* folder :
         {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"})
        folders.push_back(folder);
    return join(folders);
}

// The folders the operator shows to workers come first, then the server's own PYTHONPATH, which
// the Python environment was found with.
std::string import_path(const Policy& policy, const Environment& server) {
    std::vector<std::string> folders;
    for (const std::string& path : policy.readonly_paths)
        if (std::error_code error; fs::is_directory(path, error)) folders.push_back(path);
    if (auto inherited = value_of(server, "PYTHONPATH"); inherited && !inherited->empty())
        folders.push_back(*inherited);
    return join(folders);
}

}  // namespace

Environment workspace_variables(std::string_view workspace) {
    Environment variables = {
        fmt::format("HOME={}", workspace),
        fmt::format("TMPDIR={}/{}", workspace, temporary_folder),
        fmt::format("XDG_CONFIG_HOME={}/{}/config", workspace, private_folder),
        fmt::format("XDG_DATA_HOME={}/{}/data", workspace, private_folder),
        fmt::format("XDG_STATE_HOME={}/{}/state", workspace, private_folder),
    };
    for (const auto& [name, folder] : caches)
        variables.push_back(fmt::format("{}={}/{}/{}", name, workspace, cache_folder, folder));
    return variables;
}

Environment worker_environment(const Policy& policy, const Environment& server, bool sandboxed,
                               std::string_view cuda_home) {
    Environment variables =
        sandboxed ? workspace_variables(sandbox_workspace) : Environment{"HOME=/"};
    variables.push_back("PATH=" + search_path(policy, cuda_home));
    // Nobody has a line in /etc/passwd for the seat's user.
    variables.insert(variables.end(), {"USER=kcoral", "LOGNAME=kcoral", "SHELL=/bin/sh"});
    if (!cuda_home.empty() && !value_of(server, "CUDA_HOME"))
        variables.push_back(fmt::format("CUDA_HOME={}", cuda_home));
    if (std::string path = import_path(policy, server); !path.empty())
        variables.push_back("PYTHONPATH=" + path);
    if (!policy.python.user_base.empty())
        variables.push_back("PYTHONUSERBASE=" + policy.python.user_base);
    if (!value_of(server, "LANG")) variables.push_back("LANG=C.UTF-8");
    for (const std::string& variable : server)
        if (is_passed(name_of(variable))) variables.push_back(variable);
    return variables;
}

std::string find_cuda_home(const Environment& server, const std::string& root) {
    std::vector<std::string> candidates;
    for (std::string_view name : {"CUDA_HOME", "CUDA_PATH"})
        if (auto value = value_of(server, name); value && value->starts_with('/'))
            candidates.push_back(*value);
    candidates.insert(candidates.end(), {"/usr/local/cuda", "/opt/cuda"});
    for (const std::string& candidate : candidates)
        if (std::error_code error; fs::is_directory(root + candidate + "/bin", error))
            return candidate;
    return {};
}

}  // namespace kcoral::sandbox
