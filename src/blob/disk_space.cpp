// The cache folder: layout, lock, sum of bytes, eviction.
#include "blob/disk_space.hpp"

#include "base/uuid.hpp"
#include "blob/file_status.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace kcoral::blob {

namespace {

// How many files a scan remembers for later evictions. More cost memory, fewer more scans.
constexpr std::size_t max_candidates = 4096;

// Calls `visit` with the name of each entry of the folder; a folder that is not there has none.
template <typename Visit>
Result<void> for_each_entry(const std::string& folder, Visit visit) {
    std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    if (!entries) {
        if (errno == ENOENT) return {};
        return errno_failure("listing " + folder);
    }
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(entries.get());
        if (!entry) break;
        visit(std::string_view(entry->d_name));
    }
    if (errno != 0) return errno_failure("listing " + folder);
    return {};
}

Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    if (errno == ENOENT) {
        std::string parent = std::filesystem::path(path).parent_path();
        if (!parent.empty() && parent != path) {
            TRY(make_folder(parent));
            if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
        }
    }
    return errno_failure("making the folder " + path);
}

}  // namespace

// The lock on `usage`, and the sum that stands in it. A process that was stopped while holding it
// must not take our threads with it, so the wait is short and its end an error.
class DiskSpace::Lock {
  public:
    static Result<Lock> take(const std::string& directory) {
        std::string path = directory + "/usage";
        Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file) return errno_failure("opening " + path);
        for (int attempts = 50; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; --attempts) {
            if (errno != EINTR && (errno != EWOULDBLOCK || attempts == 0))
                return errno_failure("locking " + path);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        Lock lock(std::move(file));
        lock.read();
        return lock;
    }
    Lock(Lock&&) noexcept = default;
    Lock& operator=(Lock&&) = delete;
    ~Lock() {
        // Not left to close(): a child forked meanwhile has the descriptor, and so the lock, too.
        if (file_) ::flock(file_.get(), LOCK_UN);
    }

    // Nothing when the file does not say.
    const std::optional<std::uint64_t>& usage() const { return usage_; }
    Result<void> set_usage(std::uint64_t bytes) {
        // Of fixed width, so that it always replaces all of the former text.
        auto text = fmt::format("{:020}\n", bytes);
        ssize_t written = ::pwrite(file_.get(), text.data(), text.size(), 0);
        if (written < 0) return errno_failure("writing the disk cache's usage");
        if (written != static_cast<ssize_t>(text.size()))
            return failure(ErrorCode::io, "writing the disk cache's usage: it was cut short");
        usage_ = bytes;
        return {};
    }

  private:
    explicit Lock(Fd file) : file_(std::move(file)) {}
    void read() {
        char text[32];
        ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
        std::uint64_t bytes;
        if (size <= 0) return;
        auto [end, error] = std::from_chars(text, text + size, bytes);
        if (error == std::errc() && end + 1 == text + size && *end == '\n') usage_ = bytes;
    }

    Fd file_;
    std::optional<std::uint64_t> usage_;
};

DiskSpace::Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

DiskSpace::Temporary::~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

DiskSpace::DiskSpace(std::string directory, std::uint64_t capacity_bytes, LastUse last_use)
    : directory_(std::move(directory)),
      capacity_bytes_(capacity_bytes),
      last_use_(std::move(last_use)) {}

std::string DiskSpace::path_of(const Digest& digest) const {
    std::string hex = digest.hex();
    return directory_ + "/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

Result<void> DiskSpace::prepare() {
    std::scoped_lock guard(mutex_);
    TRY_ASSIGN(Lock lock, lock_folder());
    return {};
}

Result<DiskSpace::Lock> DiskSpace::lock_folder() {
    TRY(make_folder(directory_ + "/tmp"));
    TRY_ASSIGN(Lock lock, Lock::take(directory_));
    if (!prepared_ || !lock.usage()) {
        TRY(scan(lock));
        TRY(make_room(lock, 0));
        prepared_ = true;
    }
    return lock;
}

Result<DiskSpace::Temporary> DiskSpace::make_temporary() {
    std::scoped_lock guard(mutex_);
    TRY_ASSIGN(Lock lock, lock_folder());
    std::string path = directory_ + "/tmp/" + make_uuid();
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return errno_failure("creating " + path);
    Temporary temporary(std::move(path), std::move(file));
    if (::flock(temporary.fd().get(), LOCK_EX | LOCK_NB) != 0)
        return errno_failure("locking a temporary file");
    return temporary;
}

Result<void> DiskSpace::publish(Temporary temporary, const Digest& digest, std::uint64_t size) {
    std::scoped_lock guard(mutex_);
    TRY_ASSIGN(Lock lock, lock_folder());
    std::string path = path_of(digest);
    struct stat former;
    bool replaces = ::lstat(path.c_str(), &former) == 0;
    // Somebody else was faster.
    if (replaces && static_cast<std::uint64_t>(former.st_size) == size) return {};

    TRY(make_room(lock, size));
    TRY(make_folder(std::filesystem::path(path).parent_path()));
    std::uint64_t before = *lock.usage();
    TRY(lock.set_usage(before + size));
    if (::rename(temporary.path_.c_str(), path.c_str()) != 0) {
        auto refused = errno_failure("renaming into " + path);
        TRY(lock.set_usage(before));
        return refused;
    }
    temporary.path_.clear();
    if (replaces) TRY(forget_bytes(lock, static_cast<std::uint64_t>(former.st_size)));
    bytes_ = *lock.usage();
    return {};
}

Result<void> DiskSpace::remove(const Digest& digest, std::uint64_t inode) {
    std::scoped_lock guard(mutex_);
    TRY_ASSIGN(Lock lock, lock_folder());
    std::string path = path_of(digest);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || status.st_ino != inode) return {};
    if (::unlink(path.c_str()) != 0) return errno_failure("removing " + path);
    return forget_bytes(lock, static_cast<std::uint64_t>(status.st_size));
}

Result<void> DiskSpace::forget_bytes(Lock& lock, std::uint64_t size) {
    std::uint64_t usage = *lock.usage();
    TRY(lock.set_usage(usage - std::min(usage, size)));
    bytes_ = *lock.usage();
    return {};
}

Result<void> DiskSpace::scan(Lock& lock) {
    remove_strays();
    candidates_.clear();
    std::uint64_t total = 0;
    const Time now = std::chrono::system_clock::now();
    auto see_file = [&](const std::string& prefix, std::string_view name) {
        auto digest = Digest::from_hex(prefix + std::string(name));
        struct stat status;
        if (!digest || ::lstat(path_of(*digest).c_str(), &status) != 0) return;
        if (!S_ISREG(status.st_mode)) return;
        total += static_cast<std::uint64_t>(status.st_size);
        candidates_.push_back({*digest, last_use(*digest, status, now)});
    };
    std::optional<Error> broken;
    auto see_folder = [&](std::string_view name) {
        if (name.size() != 2) return;
        std::string prefix(name);
        auto seen = for_each_entry(directory_ + "/" + prefix,
                                   [&](std::string_view file) { see_file(prefix, file); });
        if (!seen) broken = std::move(seen).error();
    };
    // Only names that are two digits can lead to a digest; other people's folders do not matter.
    TRY(for_each_entry(directory_, [&](std::string_view name) {
        if (name.find_first_not_of("0123456789abcdef") == std::string_view::npos) see_folder(name);
    }));
    if (broken) return Failure(*std::move(broken));

    auto more_recent = [](const Candidate& a, const Candidate& b) {
        return a.last_use > b.last_use;
    };
    if (candidates_.size() > max_candidates) {
        auto kept = candidates_.end() - max_candidates;
        std::nth_element(candidates_.begin(), kept, candidates_.end(), more_recent);
        candidates_.erase(candidates_.begin(), kept);
        candidates_.shrink_to_fit();
    }
    std::sort(candidates_.begin(), candidates_.end(), more_recent);
    TRY(lock.set_usage(total));
    bytes_ = total;
    return {};
}

void DiskSpace::remove_strays() {
    std::string folder = directory_ + "/tmp";
    (void)for_each_entry(folder, [&](std::string_view name) {
        if (!is_canonical_uuid(name)) return;
        std::string path = folder + "/" + std::string(name);
        Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        // Whoever writes it holds its lock.
        if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    });
}

Result<void> DiskSpace::make_room(Lock& lock, std::uint64_t size) {
    if (size > capacity_bytes_)
        return failure(ErrorCode::too_large,
                       fmt::format("a file of {} bytes is larger than the whole disk cache of {}",
                                   size, capacity_bytes_));
    const std::uint64_t most = capacity_bytes_ - size;
    for (bool scanned = false;; scanned = true) {
        std::uint64_t evictions = evictions_;
        while (*lock.usage() > most && !candidates_.empty())
            TRY(evict_next(lock));
        if (*lock.usage() <= most) return {};
        if (scanned && evictions_ == evictions)
            return failure(ErrorCode::io, "no file of the disk cache can be removed");
        TRY(scan(lock));
    }
}

Result<void> DiskSpace::evict_next(Lock& lock) {
    Candidate oldest = candidates_.back();
    candidates_.pop_back();
    std::string path = path_of(oldest.digest);
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0) return {};
    // Used since the scan: the next one will give it its place.
    if (last_use(oldest.digest, status, std::chrono::system_clock::now()) > oldest.last_use)
        return {};
    if (::unlink(path.c_str()) != 0) return {};
    ++evictions_;
    return forget_bytes(lock, static_cast<std::uint64_t>(status.st_size));
}

DiskSpace::Time DiskSpace::last_use(const Digest& digest, const struct stat& status,
                                    Time now) const {
    Time on_disk = to_time(status.st_atim);
    // The clock was set back. What claims to be used in the future would never be evicted.
    if (on_disk > now + std::chrono::hours(1)) on_disk = Time::min();
    return std::max(on_disk, last_use_(digest));
}

}  // namespace kcoral::blob
