// What lies where in a workspace: the program's own files, and ours below `.kcoral`.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace kcoral::sandbox {

// Where a sandboxed worker sees its workspace.
constexpr std::string_view sandbox_workspace = "/work";

// What the sandboxed worker sees in place of the folder of all workspaces.
constexpr std::string_view empty_folder = "/var/empty";

// Below the workspace: what /tmp and /var/tmp, and what /dev/shm point to in the sandbox; the
// caches of tools, each made by its tool.
constexpr std::string_view private_folder = ".kcoral";
constexpr std::string_view temporary_folder = ".kcoral/tmp";
constexpr std::string_view shared_memory_folder = ".kcoral/shm";
constexpr std::string_view cache_folder = ".kcoral/cache";

// Makes those folders where they are missing, for `owner` if given. To be called again after a
// workspace was cleared.
Result<void> make_private_folders(const Fd& workspace, std::optional<uid_t> owner = std::nullopt);

}  // namespace kcoral::sandbox
