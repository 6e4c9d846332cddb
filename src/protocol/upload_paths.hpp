// UploadPaths: no two uploads go to the same file, and none to a directory of another.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace kcoral::protocol {

class UploadPaths {
  public:
    // The path must be in normal form.
    void add(std::size_t instruction, std::string path) {
        destinations_.push_back({std::move(path), instruction});
    }

    // `bad_request` naming two uploads that conflict.
    Result<void> check() const;

  private:
    struct Destination {
        std::string path;
        std::size_t instruction;
    };
    std::vector<Destination> destinations_;
};

}  // namespace kcoral::protocol
