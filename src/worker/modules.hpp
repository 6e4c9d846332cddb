// UploadedModules: the modules a program uploads, as real ones in the interpreter.
//
// Each is a module object with a name of its own in sys.modules, a file name "<uploaded:ID>" whose
// source is in linecache, so that tracebacks, inspect, dataclasses, type hints and pickling work.
// The destructor takes them out again. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::worker {

class UploadedModules {
  public:
    UploadedModules() = default;
    UploadedModules(const UploadedModules&) = delete;
    ~UploadedModules();

    // Compiles and runs the source; throws InstructionFailed when it does not compile or raises.
    nanobind::object upload(std::string_view id, std::string_view source);

  private:
    std::vector<std::string> names_;
    std::vector<std::string> files_;
};

}  // namespace kcoral::worker
