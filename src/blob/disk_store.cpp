// Finding, verifying and storing the files of the disk cache.
#include "blob/disk_store.hpp"

#include "base/log.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace kcoral::blob {

namespace {

// Records beyond this number are forgotten, which costs verifications.
constexpr std::size_t max_records = 200'000;

Result<struct stat> status_of(const Fd& file) {
    struct stat status;
    if (::fstat(file.get(), &status) != 0) return errno_failure("asking for a file's status");
    if (!S_ISREG(status.st_mode))
        return failure(ErrorCode::io, "something that is no file lies in its place");
    return status;
}

Result<Digest> hash_file(const Fd& file) {
    (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Sha256 hasher;
    std::vector<std::byte> buffer(256 << 10);
    for (off_t offset = 0;;) {
        ssize_t count = ::pread(file.get(), buffer.data(), buffer.size(), offset);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno_failure("reading");
        if (count == 0) return hasher.finish();
        hasher.update(ByteView(buffer).first(static_cast<std::size_t>(count)));
        offset += count;
    }
}

Result<void> write_blob(const Fd& target, const Blob& blob) {
    if (!blob.file()) return write_all(target, blob.view());
    auto size = static_cast<off_t>(blob.size());
    for (off_t offset = 0; offset < size;) {
        constexpr off_t most = 1 << 30;  // of one call
        auto step = static_cast<std::size_t>(std::min(most, size - offset));
        ssize_t count = ::sendfile(target.get(), blob.file()->get(), &offset, step);
        if (count < 0 && errno != EINTR) return errno_failure("writing");
        if (count == 0) return failure(ErrorCode::io, "writing: the file takes no more bytes");
    }
    return {};
}

}  // namespace

DiskStore::DiskStore(const DiskCache::Options& options)
    : touch_interval_(options.touch_interval),
      capacity_bytes_(options.capacity_bytes),
      space_(options.directory, options.capacity_bytes,
             [this](const Digest& digest) { return last_use(digest); }) {}

void DiskStore::prepare() {
    if (auto prepared = space_.prepare(); !prepared) fault("prepare", prepared.error());
}

std::optional<CachedFile> DiskStore::find(const Digest& digest) {
    auto file = look_up(digest);
    std::scoped_lock guard(mutex_);
    ++(file ? statistics_.hits : statistics_.misses);
    return file;
}

std::optional<CachedFile> DiskStore::look_up(const Digest& digest) {
    std::string path = space_.path_of(digest);
    // Non-blocking, for what might lie there instead of a file.
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) {
        if (errno != ENOENT) fault("open", system_error("opening " + path, errno));
        forget(digest);
        return std::nullopt;
    }
    auto status = status_of(file);
    if (!status) {
        fault("open", std::move(status).error().within(path));
        return std::nullopt;
    }
    auto fingerprint = Fingerprint::of(*status);
    if (touch_if_stale(file, *status) || verified(digest) != fingerprint)
        return verify(digest, std::move(file));
    used(digest, fingerprint);
    return CachedFile{std::move(file), fingerprint.size};
}

std::optional<CachedFile> DiskStore::verify(const Digest& digest, Fd file) {
    auto started = std::chrono::system_clock::now();
    auto before = status_of(file);
    auto found = hash_file(file);
    auto after = status_of(file);
    if (!before || !found || !after) {
        fault("read", !found ? found.error() : !before ? before.error() : after.error());
        return std::nullopt;
    }
    auto fingerprint = Fingerprint::of(*after);
    if (*found != digest) {
        {
            std::scoped_lock guard(mutex_);
            ++statistics_.corrupted;
        }
        forget(digest);
        fault("content",
              Error(ErrorCode::io, space_.path_of(digest) + " does not hash to its name"));
        if (auto removed = space_.remove(digest, fingerprint.inode); !removed)
            fault("remove", removed.error());
        return std::nullopt;
    }
    bool trusted = fingerprint == Fingerprint::of(*before) && fingerprint.aged(started);
    used(digest, trusted ? std::optional(fingerprint) : std::nullopt);
    return CachedFile{std::move(file), fingerprint.size};
}

bool DiskStore::touch_if_stale(const Fd& file, const struct stat& status) const {
    auto age = std::chrono::system_clock::now() - to_time(status.st_atim);
    if (age >= std::chrono::seconds(0) && age <= touch_interval_) return false;
    const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    // Where it cannot be done, as on a read-only disk, the file is simply evicted earlier.
    return ::futimens(file.get(), times) == 0;
}

bool DiskStore::store(const Blob& blob) {
    if (blob.size() > capacity_bytes_) return false;
    struct stat status;
    bool there = ::lstat(space_.path_of(blob.digest()).c_str(), &status) == 0 &&
                 static_cast<std::uint64_t>(status.st_size) == blob.size();
    if (!there) {
        if (auto stored = write_and_publish(blob); !stored) {
            fault("write", stored.error());
            return false;
        }
    }
    used(blob.digest(), verified(blob.digest()));
    return true;
}

Result<void> DiskStore::write_and_publish(const Blob& blob) {
    TRY_ASSIGN(auto temporary, space_.make_temporary());
    TRY(write_blob(temporary.fd(), blob));
    // Not synced: after a power cut the file may be short or empty, and verification finds it.
    TRY(space_.publish(std::move(temporary), blob.digest(), blob.size()));
    std::scoped_lock guard(mutex_);
    ++statistics_.stores;
    return {};
}

void DiskStore::fault(std::string_view kind, const Error& error) {
    std::scoped_lock guard(mutex_);
    ++statistics_.faults;
    if (!logged_.insert(std::string(kind)).second) return;
    log::warning("disk cache: {}; going on without the file (told once a kind of fault)",
                 error.message);
}

DiskCache::Statistics DiskStore::statistics() const {
    std::scoped_lock guard(mutex_);
    auto statistics = statistics_;
    statistics.bytes = space_.bytes();
    statistics.evictions = space_.evictions();
    return statistics;
}

std::optional<Fingerprint> DiskStore::verified(const Digest& digest) const {
    std::scoped_lock guard(mutex_);
    auto found = records_.find(digest);
    return found == records_.end() ? std::nullopt : found->second.verified;
}

DiskStore::Time DiskStore::last_use(const Digest& digest) const {
    std::scoped_lock guard(mutex_);
    auto found = records_.find(digest);
    return found == records_.end() ? Time::min() : found->second.last_use;
}

void DiskStore::used(const Digest& digest, std::optional<Fingerprint> fingerprint) {
    std::scoped_lock guard(mutex_);
    if (records_.size() >= max_records) records_.clear();
    records_[digest] = {std::chrono::system_clock::now(), std::move(fingerprint)};
}

void DiskStore::forget(const Digest& digest) {
    std::scoped_lock guard(mutex_);
    records_.erase(digest);
}

}  // namespace kcoral::blob
