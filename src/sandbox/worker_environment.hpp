// The environment variables of zygote and workers: an allow-list, never the server's own.
//
// Passed on from the server, where set: LANG, LANGUAGE, TZ, LD_LIBRARY_PATH, PYTHONPATH, CC, CXX,
// CUDA_HOME, CUDA_PATH, and names that begin with LC_, CUDA_, NVIDIA_, NCCL_, NVSHMEM_, TORCH_,
// PYTORCH_, TRITON_, OMP_, MKL_, OPENBLAS_, NUMEXPR_. Whatever begins with KCORAL_, or has TOKEN,
// SECRET, PASSWORD, CREDENTIAL or API_KEY in its name, is not, and neither is a cache folder.
#pragma once

#include "sandbox/policy.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::sandbox {

// "NAME=value" each.
using Environment = std::vector<std::string>;

// What depends on where the workspace is, as the worker sees it: HOME, TMPDIR, XDG folders, caches.
Environment workspace_variables(std::string_view workspace);

// All the variables the zygote is started with, given the server's own. `sandboxed`: the workspace
// is /work; otherwise workspace_variables come to each worker after its fork, and here HOME is /.
// `cuda_home` may be empty.
Environment worker_environment(const Policy& policy, const Environment& server, bool sandboxed,
                               std::string_view cuda_home);

// Where the CUDA toolkit is: CUDA_HOME or CUDA_PATH of the environment, else /usr/local/cuda or
// /opt/cuda where it has a bin folder. Empty if nowhere.
std::string find_cuda_home(const Environment& server, const std::string& root = "/");

}  // namespace kcoral::sandbox
