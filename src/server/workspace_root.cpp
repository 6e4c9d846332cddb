// Making, locking and clearing up workspace folders.
#include "server/workspace_root.hpp"

#include "base/log.hpp"
#include "base/remove_tree.hpp"
#include "base/uuid.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace kcoral::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "server-";

Fd lock_folder(const std::string& path) {
    Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.reset();
    return folder;
}

std::string default_directory() {
    const char* temporary = std::getenv("TMPDIR");
    return fmt::format("{}/kcoral-workspaces-{}", temporary && *temporary ? temporary : "/tmp",
                       ::geteuid());
}

// A folder that others could put things into is no place for our files.
Result<void> make_private_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_failure("making " + path);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0) return errno_failure("looking at " + path);
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 0022) != 0)
        return failure(ErrorCode::io,
                       path +
                           " must be a folder that belongs to this user and that nobody else "
                           "can write to; choose another one with --workspace-dir");
    return {};
}

void remove_abandoned(const std::string& directory) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        Fd lock = lock_folder(entry.path());
        if (!lock) continue;
        if (auto removed = remove_tree(entry.path()); !removed)
            log::warning("an abandoned workspace could not be removed: {}",
                         removed.error().message);
    }
}

}  // namespace

Result<WorkspaceRoot> WorkspaceRoot::create(std::string directory) {
    if (directory.empty()) directory = default_directory();
    directory = fs::absolute(directory).lexically_normal();
    TRY(make_private_folder(directory));
    remove_abandoned(directory);
    std::string path = fmt::format("{}/{}{}", directory, prefix, make_uuid());
    if (::mkdir(path.c_str(), 0700) != 0) return errno_failure("making " + path);
    Fd lock = lock_folder(path);
    if (!lock) return errno_failure("locking " + path);
    return WorkspaceRoot(std::move(path), std::move(lock));
}

WorkspaceRoot::WorkspaceRoot(std::string path, Fd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

WorkspaceRoot::WorkspaceRoot(WorkspaceRoot&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

WorkspaceRoot::~WorkspaceRoot() {
    if (path_.empty()) return;
    if (auto removed = remove_tree(path_); !removed)
        log::error("the workspaces could not be removed: {}", removed.error().message);
}

}  // namespace kcoral::server
