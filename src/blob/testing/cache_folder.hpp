// A cache folder of its own for each test, with ways to look into it and to damage it.
#pragma once

#include "base/fd.hpp"
#include "base/sha256.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace kcoral::blob::testing {

struct CacheFolder {
    std::filesystem::path root;
    std::filesystem::path path;  // the cache; not made yet

    CacheFolder() {
        std::string name = std::filesystem::temp_directory_path() / "kcoral-disk-XXXXXX";
        root = ::mkdtemp(name.data());
        path = root / "deep" / "files";
    }
    ~CacheFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(root, ignored);
    }
    CacheFolder(const CacheFolder&) = delete;
    CacheFolder& operator=(const CacheFolder&) = delete;

    std::filesystem::path entry(const Digest& digest) const {
        auto hex = digest.hex();
        return path / hex.substr(0, 2) / hex.substr(2);
    }
    bool has(const Digest& digest) const { return std::filesystem::exists(entry(digest)); }

    // Sum over the files in their places, as opposed to what `usage` says.
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (auto& file : std::filesystem::recursive_directory_iterator(path))
            if (file.is_regular_file() && file.path().filename().string().size() == 62)
                sum += file.file_size();
        return sum;
    }
    std::string usage() const { return read_file((path / "usage").string()).value(); }
    std::size_t temporaries() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path / "tmp"), {}));
    }
    void write(const std::filesystem::path& file, const std::string& text) const {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    // Changes one byte and nothing else, not even the file's mtime.
    void damage(const Digest& digest) const {
        struct stat before;
        ::stat(entry(digest).c_str(), &before);
        std::fstream file(entry(digest), std::ios::in | std::ios::out | std::ios::binary);
        char byte = static_cast<char>(file.get());
        file.seekp(0);
        file.put(static_cast<char>(byte ^ 1));
        file.close();
        timespec times[] = {before.st_atim, before.st_mtim};
        ::utimensat(AT_FDCWD, entry(digest).c_str(), times, 0);
    }
    void set_last_use(const Digest& digest, std::int64_t seconds_from_now) const {
        timespec times[] = {{::time(nullptr) + seconds_from_now, 0}, {0, UTIME_OMIT}};
        ::utimensat(AT_FDCWD, entry(digest).c_str(), times, 0);
    }
};

}  // namespace kcoral::blob::testing
