// Deleting a tree that a hostile program may have built.
#include "base/remove_tree.hpp"

#include "base/fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace kcoral {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

bool is_dot(const char* name) {
    return !std::strcmp(name, ".") || !std::strcmp(name, "..");
}

Fd open_folder(int parent, const char* name) {
    Fd folder(::openat(parent, name, folder_flags));
    if (!folder && errno == EACCES && ::fchmodat(parent, name, 0700, 0) == 0)
        folder = Fd(::openat(parent, name, folder_flags));
    return folder;
}

// A tree as deep as a program cares to nest it would cost a descriptor a level, so a folder found
// in a folder is first moved up to the top under a number: every level becomes the first.
Result<void> empty_folder(const Fd& top, const Fd& folder, std::uint64_t& next_number,
                          bool is_top) {
    // A second descriptor for the reader, which wants to own one.
    int copy = ::openat(folder.get(), ".", folder_flags);
    if (copy < 0) return errno_failure("opening a folder");
    std::unique_ptr<DIR, CloseFolder> reader(::fdopendir(copy));
    if (!reader) return errno_failure("reading a folder");
    while (dirent* entry = ::readdir(reader.get())) {
        if (is_dot(entry->d_name)) continue;
        if (::unlinkat(folder.get(), entry->d_name, 0) == 0) continue;
        if (errno == EACCES || errno == EPERM) {
            ::fchmod(folder.get(), 0700);
            if (::unlinkat(folder.get(), entry->d_name, 0) == 0) continue;
        }
        if (is_top) continue;  // a folder: the caller's turn
        // A folder without permissions cannot be moved by everybody: its `..` would have to change.
        ::fchmodat(folder.get(), entry->d_name, 0700, 0);
        std::string name;
        do {
            name = ".kcoral-removing-" + std::to_string(next_number++);
        } while (::faccessat(top.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        if (::renameat(folder.get(), entry->d_name, top.get(), name.c_str()) != 0)
            return errno_failure("removing " + std::string(entry->d_name));
    }
    return {};
}

Result<bool> remove_folders_at_top(const Fd& top, std::uint64_t& next_number) {
    int copy = ::openat(top.get(), ".", folder_flags);
    if (copy < 0) return errno_failure("opening a folder");
    std::unique_ptr<DIR, CloseFolder> reader(::fdopendir(copy));
    if (!reader) return errno_failure("reading a folder");
    bool any = false;
    while (dirent* entry = ::readdir(reader.get())) {
        if (is_dot(entry->d_name)) continue;
        any = true;
        Fd folder = open_folder(top.get(), entry->d_name);
        if (!folder) return errno_failure("opening " + std::string(entry->d_name));
        ::fchmod(folder.get(), 0700);
        TRY(empty_folder(top, folder, next_number, false));
        if (::unlinkat(top.get(), entry->d_name, AT_REMOVEDIR) != 0)
            return errno_failure("removing " + std::string(entry->d_name));
    }
    return any;
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
    Fd top = open_folder(AT_FDCWD, path.c_str());
    if (!top) {
        if (errno == ENOENT || ::unlink(path.c_str()) == 0) return {};
        return errno_failure("opening " + path);
    }
    ::fchmod(top.get(), 0700);
    std::uint64_t next_number = 0;
    TRY(empty_folder(top, top, next_number, true));
    bool any = true;
    while (any) {
        TRY_ASSIGN(any, remove_folders_at_top(top, next_number));
    }
    if (::rmdir(path.c_str()) != 0) return errno_failure("removing " + path);
    return {};
}

}  // namespace kcoral
