// DiskCache: the files of uploads, kept on disk for later requests and later servers.
//
// One file a digest below the directory. Several servers may share the directory, and any of them
// may be killed at any moment: files are published by rename, space is accounted under a file lock,
// and what a dead server left half-written is removed by the next one. No storage fault reaches the
// caller: a file that cannot be read is a miss, one that cannot be kept is not kept, and each kind
// of fault is logged once.
//
// Files are verified: the first find() of a file in this process hashes it whole; later ones trust
// that as long as its inode, size, mtime and ctime are what they were then. A file that does not
// hash to its name is removed, and a miss.
//
// Used on the loop thread; disk work runs on the pool. The pool must be joined before the loop's
// io_context and this object are destroyed.
#pragma once

#include "blob/blob.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kcoral::blob {

// A cached file, open for reading by position. It stays readable when it is evicted meanwhile.
struct CachedFile {
    Fd file;
    std::uint64_t size = 0;
};

class DiskCache {
  public:
    struct Options {
        std::string directory;             // made 0700 when missing; empty: no disk cache
        std::uint64_t capacity_bytes = 0;  // of all files together, inclusive; 0: no disk cache
        // How stale a file's time of last use may be on disk, where other servers see it. Touching
        // a file costs its next user one verification.
        std::chrono::seconds touch_interval{600};
    };

    struct Statistics {
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
        std::uint64_t stores = 0;     // files this process published
        std::uint64_t evictions = 0;  // files this process removed to hold the budget
        std::uint64_t corrupted = 0;  // files that did not hash to their name
        std::uint64_t faults = 0;     // storage faults of any kind
        std::uint64_t bytes = 0;      // in the directory, as last seen
    };

    DiskCache(Options options, boost::asio::any_io_executor pool);
    ~DiskCache();
    DiskCache(const DiskCache&) = delete;
    DiskCache& operator=(const DiskCache&) = delete;

    bool enabled() const;

    // The verified file, or nothing: a miss.
    boost::asio::awaitable<std::optional<CachedFile>> find(Digest digest);

    // Keeps a copy of the blob; false when it was not kept. Evicts the least recently used files
    // first if need be.
    boost::asio::awaitable<bool> store(BlobPtr blob);

    Statistics statistics() const;

    // $XDG_CACHE_HOME/kcoral/files when that variable is an absolute path, else
    // $HOME/.cache/kcoral/files; empty when there is no home either.
    static std::string default_directory();

  private:
    struct Core;
    std::shared_ptr<Core> core_;
};

}  // namespace kcoral::blob
