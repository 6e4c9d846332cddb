// Making the folders every worker finds in its workspace.
#include "sandbox/workspace_layout.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kcoral::sandbox {

Result<void> make_private_folders(const Fd& workspace, std::optional<uid_t> owner) {
    for (std::string_view folder :
         {private_folder, temporary_folder, shared_memory_folder, cache_folder}) {
        if (::mkdirat(workspace.get(), folder.data(), 0700) != 0 && errno != EEXIST)
            return errno_failure(folder);
        if (owner &&
            ::fchownat(workspace.get(), folder.data(), *owner, *owner, AT_SYMLINK_NOFOLLOW) != 0)
            return errno_failure(folder);
    }
    return {};
}

}  // namespace kcoral::sandbox
