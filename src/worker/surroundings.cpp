// Environment variables of a worker, and the generators of NumPy and torch.
#include "worker/surroundings.hpp"

#include "worker/python.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

// Variables that name folders, relative to the workspace.
struct FolderVariable {
    const char* name;
    const char* folder;
};
constexpr FolderVariable folder_variables[] = {
    {"HOME", ""},
    {"TMPDIR", "/.kcoral/tmp"},
    {"XDG_CACHE_HOME", "/.kcoral/cache"},
    {"CUDA_CACHE_PATH", "/.kcoral/cache/cuda"},
    {"TRITON_CACHE_DIR", "/.kcoral/cache/triton"},
    {"TORCH_EXTENSIONS_DIR", "/.kcoral/cache/torch_extensions"},
    {"TORCHINDUCTOR_CACHE_DIR", "/.kcoral/cache/torchinductor"},
    {"TVM_FFI_CACHE_DIR", "/.kcoral/cache/tvm-ffi"},
};

Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_failure("making " + path);
    return {};
}

}  // namespace

Result<void> settle_in(const Workspace& workspace) {
    if (::chdir(workspace.path().c_str()) != 0)
        return errno_failure("entering the workspace " + workspace.path());
    TRY(make_folder(workspace.path() + "/.kcoral"));
    TRY(make_folder(workspace.path() + "/.kcoral/tmp"));
    nb::object environment = nb::module_::import_("os").attr("environ");
    for (const FolderVariable& variable : folder_variables)
        environment[variable.name] = nb::str((workspace.path() + variable.folder).c_str());
    return {};
}

void reseed_generators() {
    // Python's `random` reseeds itself after a fork.
    call_or_clear(imported_module("numpy.random"), "seed");
    nb::object torch = imported_module("torch");
    if (torch.is_valid()) call_or_clear(get_attribute(torch, "default_generator"), "seed");
}

}  // namespace kcoral::worker
