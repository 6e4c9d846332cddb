// Walking the workspace one component at a time, with O_NOFOLLOW at each.
#include "worker/workspace.hpp"

#include "base/remove_tree.hpp"
#include "sandbox/paths.hpp"
#include "sandbox/seat_entry.hpp"
#include "sandbox/workspace_layout.hpp"
#include "worker/copy_range.hpp"
#include "worker/descriptors.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace kcoral::worker {
namespace {

using sandbox::lies_in;

Failure path_failure(std::string_view path, int error_number) {
    if (error_number == ELOOP || error_number == ENOTDIR)
        return failure(ErrorCode::io,
                       fmt::format("{}: a component is a symbolic link or no folder", path));
    return Failure(system_error(path, error_number));
}

// The program may have changed the umask; what we create is to have the modes we say.
class OwnUmask {
  public:
    OwnUmask() : before_(::umask(077)) {}
    OwnUmask(const OwnUmask&) = delete;
    ~OwnUmask() { ::umask(before_); }

  private:
    mode_t before_;
};

// "a/b/c" -> {"a/b", "c"}
std::pair<std::string_view, std::string> split_last(std::string_view path) {
    std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return {{}, std::string(path)};
    return {path.substr(0, slash), std::string(path.substr(slash + 1))};
}

Result<Fd> open_component(const Fd& parent, const std::string& name) {
    Fd directory(
        ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) return path_failure(name, errno);
    return directory;
}

bool unchanged(const struct stat& before, const struct stat& after) {
    auto same = [](const timespec& a, const timespec& b) {
        return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
    };
    return before.st_ino == after.st_ino && before.st_dev == after.st_dev &&
           before.st_size == after.st_size && same(before.st_mtim, after.st_mtim) &&
           same(before.st_ctim, after.st_ctim);
}

// `shown` is the path for messages.
Result<std::uint64_t> read_regular(const Fd& parent, const std::string& name,
                                   std::string_view shown, Payload& payload) {
    // O_NONBLOCK: opening a FIFO would wait for a writer.
    Fd file(::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return path_failure(shown, errno);
    struct stat before, after, entry;
    if (::fstat(file.get(), &before) != 0) return path_failure(shown, errno);
    if (!S_ISREG(before.st_mode))
        return failure(ErrorCode::io, fmt::format("{} is not a regular file", shown));
    auto size = static_cast<std::uint64_t>(before.st_size);
    if (auto copied = payload.append_file(file, size); !copied) {
        if (copied.error().code == ErrorCode::too_large) return Failure(std::move(copied).error());
        return Failure(std::move(copied).error().within(shown));
    }
    if (::fstat(file.get(), &after) != 0) return path_failure(shown, errno);
    // The name must still lead to the file that was read.
    if (::fstatat(parent.get(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0 ||
        !unchanged(before, after) || !unchanged(after, entry))
        return failure(ErrorCode::io, fmt::format("{} changed while it was read", shown));
    return size;
}

struct Entry {
    std::string name;
    mode_t mode;
};

// The entries of a directory, without `.` and `..`.
Result<std::vector<Entry>> list(Fd directory, std::string_view shown) {
    std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), &::closedir);
    if (!stream) return path_failure(shown, errno);
    int descriptor = directory.release();
    std::vector<Entry> entries;
    while (true) {
        errno = 0;
        dirent* item = ::readdir(stream.get());
        if (!item) break;
        std::string name = item->d_name;
        if (name == "." || name == "..") continue;
        struct stat status;
        if (::fstatat(descriptor, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno == ENOENT) continue;
            return path_failure(shown, errno);
        }
        entries.push_back({std::move(name), status.st_mode});
    }
    if (errno != 0) return path_failure(shown, errno);
    return entries;
}

std::string join(std::string_view parent, std::string_view name) {
    if (parent.empty()) return std::string(name);
    return fmt::format("{}/{}", parent, name);
}

}  // namespace

Result<Workspace> Workspace::open(std::string path) {
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return errno_failure("opening the workspace " + path);
    return Workspace(std::move(path), move_out_of_the_way(std::move(directory)));
}

Result<Fd> Workspace::open_directory(std::string_view path) const {
    TRY_ASSIGN(Fd directory, open_component(directory_, "."));
    while (!path.empty()) {
        std::size_t slash = std::min(path.find('/'), path.size());
        TRY_ASSIGN(directory, open_component(directory, std::string(path.substr(0, slash))));
        path.remove_prefix(std::min(slash + 1, path.size()));
    }
    return directory;
}

Result<void> Workspace::write_file(std::string_view path, const Fd& source, std::uint64_t offset,
                                   std::uint64_t size) const {
    OwnUmask own_umask;
    auto [parents, name] = split_last(path);
    TRY_ASSIGN(Fd directory, open_component(directory_, "."));
    while (!parents.empty()) {
        std::size_t slash = std::min(parents.find('/'), parents.size());
        std::string parent(parents.substr(0, slash));
        if (::mkdirat(directory.get(), parent.c_str(), 0700) != 0 && errno != EEXIST)
            return path_failure(path, errno);
        auto opened = open_component(directory, parent);
        if (!opened) return Failure(std::move(opened).error().within(path));
        directory = std::move(*opened);
        parents.remove_prefix(std::min(slash + 1, parents.size()));
    }
    Fd file(::openat(directory.get(), name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return path_failure(path, errno);
    auto copied = copy_range(source, offset, size, file);
    if (!copied) return Failure(std::move(copied).error().within(path));
    return {};
}

Result<std::uint64_t> Workspace::read_file(std::string_view path, Payload& payload) const {
    auto [parents, name] = split_last(path);
    auto directory = open_directory(parents);
    if (!directory) return Failure(std::move(directory).error().within(path));
    return read_regular(*directory, name, path, payload);
}

Result<Workspace::Folder> Workspace::read_folder(std::string_view path, Payload& payload) const {
    Folder folder;
    std::vector<std::string> pending{""};
    for (std::size_t next = 0; next < pending.size(); ++next) {
        std::string parent = pending[next];
        std::string shown = join(path, parent);
        auto directory = open_directory(parent.empty() ? std::string(path) : shown);
        if (!directory) return Failure(std::move(directory).error().within(shown));
        TRY_ASSIGN(auto entries, list(std::move(*directory), shown));
        for (Entry& entry : entries) {
            std::string inside = join(parent, entry.name);
            if (S_ISDIR(entry.mode))
                pending.push_back(std::move(inside));
            else if (S_ISREG(entry.mode))
                folder.files.push_back({std::move(inside), 0});
            else
                return failure(
                    ErrorCode::io,
                    fmt::format("{} is neither a regular file nor a folder", join(path, inside)));
        }
    }
    folder.directories.assign(pending.begin() + 1, pending.end());
    std::ranges::sort(folder.directories);
    std::ranges::sort(folder.files, {}, &Folder::File::path);
    for (Folder::File& file : folder.files) {
        std::string shown = join(path, file.path);
        TRY_ASSIGN(file.size, read_file(shown, payload));
    }
    return folder;
}

// Are the private folders there, and nothing in them? Most programs leave them so.
bool Workspace::private_folders_are_empty() const {
    auto parent = open_directory(sandbox::private_folder);
    if (!parent) return false;
    auto again = open_component(*parent, ".");
    if (!again) return false;
    auto folders = list(std::move(*again), sandbox::private_folder);
    if (!folders) return false;
    return std::ranges::all_of(*folders, [&parent](const Entry& folder) {
        auto directory = open_component(*parent, folder.name);
        if (!directory) return false;
        auto entries = list(std::move(*directory), folder.name);
        return entries && entries->empty();
    });
}

Result<void> Workspace::clear() {
    if (!mounts_) {
        TRY_ASSIGN(std::string mountinfo, kcoral::read_file("/proc/self/mountinfo"));
        mounts_ = sandbox::mounts_below_workspace(mountinfo);
    }
    // The program may have closed the folder to itself.
    if (::fchmod(directory_.get(), 0700) != 0) return path_failure(path_, errno);
    return clear_folder(directory_, path_);
}

// Goes into a folder only on the way to a mount point: what lies there is not the program's.
Result<void> Workspace::clear_folder(const Fd& folder, const std::string& path) const {
    TRY_ASSIGN(Fd again, open_component(folder, "."));
    TRY_ASSIGN(auto entries, list(std::move(again), path));
    for (const Entry& entry : entries) {
        std::string inside = join(path, entry.name);
        auto mounted = [&inside](const std::string& point) { return lies_in(point, inside); };
        bool is_mount_point = std::ranges::find(*mounts_, inside) != mounts_->end();
        if (is_mount_point || (&folder == &directory_ && entry.name == sandbox::private_folder &&
                               private_folders_are_empty()))
            continue;
        if (std::ranges::any_of(*mounts_, mounted)) {
            TRY_ASSIGN(Fd inner, open_component(folder, entry.name));
            TRY(clear_folder(inner, inside));
        } else {
            TRY(remove_tree(fmt::format("/proc/self/fd/{}/{}", folder.get(), entry.name)));
        }
    }
    return {};
}

}  // namespace kcoral::worker
