// Workspace: the folder of a program's files, held open so that it stays the same folder whatever
// the program does to its working directory.
//
// Paths are relative, with `/` between components, checked by protocol's rules before. No symbolic
// link is followed at any component. Reading refuses what is no regular file (it never blocks on a
// FIFO) and a file that changes meanwhile. Errors name the path and are for people.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "worker/payload.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::worker {

class Workspace {
  public:
    static Result<Workspace> open(std::string path);

    const std::string& path() const { return path_; }
    const Fd& fd() const { return directory_; }

    // Creates the file, which must not exist, with `size` bytes of `source` from `offset` on: mode
    // 0600, missing parents 0700.
    Result<void> write_file(std::string_view path, const Fd& source, std::uint64_t offset,
                            std::uint64_t size) const;

    // Appends the file's bytes to the payload and gives their number.
    Result<std::uint64_t> read_file(std::string_view path, Payload& payload) const;

    struct Folder {
        struct File {
            std::string path;  // relative to the folder
            std::uint64_t size = 0;
        };
        std::vector<File> files;               // sorted by path, as their bytes lie in the payload
        std::vector<std::string> directories;  // sorted; the folder itself is implied
    };
    Result<Folder> read_folder(std::string_view path, Payload& payload) const;

    // Removes everything inside but the private folders, where nothing is in them, and what the
    // sandbox mounted below the workspace.
    Result<void> clear();

  private:
    Workspace(std::string path, Fd directory)
        : path_(std::move(path)), directory_(std::move(directory)) {}

    Result<Fd> open_directory(std::string_view path) const;
    bool private_folders_are_empty() const;
    Result<void> clear_folder(const Fd& folder, const std::string& path) const;

    std::string path_;
    Fd directory_;
    // Absolute paths of mount points below, which stay as they are; known once it was cleared.
    std::optional<std::vector<std::string>> mounts_;
};

}  // namespace kcoral::worker
