// WorkspaceRoot: the folder in which one server keeps the workspaces of its requests.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"

#include <string>

namespace kcoral::server {

// Several servers may share a directory: each has a folder of its own there, locked while it lives.
// Folders whose server is gone, however it ended, are removed by the next one that starts.
// Blocking.
class WorkspaceRoot {
  public:
    // `directory` is made when missing; when it is empty, a folder in the system's temporary one
    // that belongs to this user is taken.
    static Result<WorkspaceRoot> create(std::string directory);
    WorkspaceRoot(WorkspaceRoot&& other) noexcept;
    WorkspaceRoot& operator=(WorkspaceRoot&&) = delete;
    ~WorkspaceRoot();  // removes the folder and all in it

    const std::string& path() const { return path_; }

  private:
    WorkspaceRoot(std::string path, Fd lock);

    std::string path_;
    Fd lock_;
};

}  // namespace kcoral::server
