#include "sandbox/worker_environment.hpp"

#include "base/remove_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>

namespace kcoral::sandbox {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Policy policy() {
    Policy policy;
    policy.python.executable = "/venv/bin/python";
    policy.readonly_paths = {"/usr", "/etc/hosts"};
    return policy;
}

TEST(WorkerEnvironment, PassesOnWhatIsListedAndNoSecret) {
    Environment server = {"LANG=de_DE.UTF-8",
                          "LC_ALL=C",
                          "NCCL_NVLS_ENABLE=0",
                          "OMP_NUM_THREADS=3",
                          "LD_LIBRARY_PATH=/usr/local/nvidia/lib64",
                          "KCORAL_TOKEN=t",
                          "AWS_SECRET_ACCESS_KEY=s",
                          "TORCH_HUB_TOKEN=t",
                          "NVIDIA_API_KEY=k",
                          "HOME=/root",
                          "PATH=/evil",
                          "TRITON_CACHE_DIR=/root/.triton",
                          "CUDA_VISIBLE_DEVICES=3",
                          "HTTP_PROXY=p",
                          "SSH_AUTH_SOCK=s",
                          "BASH_ENV=e",
                          "LD_PRELOAD=/x.so"};
    Environment variables = worker_environment(policy(), server, true, "/usr/local/cuda");
    for (const char* passed : {"LANG=de_DE.UTF-8", "LC_ALL=C", "NCCL_NVLS_ENABLE=0",
                               "OMP_NUM_THREADS=3", "LD_LIBRARY_PATH=/usr/local/nvidia/lib64"})
        EXPECT_THAT(variables, Contains(passed));
    for (const char* dropped :
         {"KCORAL_", "AWS_", "TORCH_HUB_TOKEN", "NVIDIA_API_KEY", "HOME=/root", "PATH=/evil",
          "TRITON_CACHE_DIR=/root", "CUDA_VISIBLE_DEVICES", "HTTP_PROXY", "SSH_AUTH_SOCK",
          "BASH_ENV", "LD_PRELOAD"})
        EXPECT_THAT(variables, Each(Not(StartsWith(dropped)))) << dropped;
}

TEST(WorkerEnvironment, PutsHomeTemporaryFilesAndCachesIntoTheWorkspace) {
    Environment variables = worker_environment(policy(), {}, true, "");
    for (const char* variable :
         {"HOME=/work", "TMPDIR=/work/.kcoral/tmp", "CUDA_CACHE_PATH=/work/.kcoral/cache/cuda",
          "TRITON_CACHE_DIR=/work/.kcoral/cache/triton",
          "TORCH_EXTENSIONS_DIR=/work/.kcoral/cache/torch_extensions",
          "TVM_FFI_CACHE_DIR=/work/.kcoral/cache/tvm_ffi", "LANG=C.UTF-8"})
        EXPECT_THAT(variables, Contains(variable));
}

TEST(WorkerEnvironment, LeavesTheWorkspaceToTheWorkerWithoutASandbox) {
    EXPECT_THAT(worker_environment(policy(), {}, false, ""), Each(Not(HasSubstr(".kcoral"))));
    EXPECT_THAT(workspace_variables("/var/w0"), Contains("HOME=/var/w0"));
}

TEST(WorkerEnvironment, BeginsThePathWithPythonThenCuda) {
    EXPECT_THAT(worker_environment(policy(), {}, true, "/usr/local/cuda"),
                Contains(StartsWith("PATH=/venv/bin:/usr/local/cuda/bin:/usr/local/sbin:")));
    EXPECT_THAT(worker_environment(policy(), {}, true, ""),
                Contains(StartsWith("PATH=/venv/bin:/usr/local/sbin:")));
}

TEST(WorkerEnvironment, PutsShownFoldersOnTheImportPath) {
    EXPECT_THAT(worker_environment(policy(), {"PYTHONPATH=/mine"}, true, ""),
                Contains("PYTHONPATH=/usr:/mine"));
    EXPECT_THAT(worker_environment(Policy(), {}, true, ""), Each(Not(StartsWith("PYTHONPATH"))));
}

TEST(CudaHome, IsTheOneNamedOrTheUsualOne) {
    std::string root = "/tmp/kcoral-cuda-XXXXXX";
    ASSERT_TRUE(::mkdtemp(root.data()));
    EXPECT_EQ(find_cuda_home({}, root), "");
    std::filesystem::create_directories(root + "/usr/local/cuda/bin");
    std::filesystem::create_directories(root + "/toolkit/bin");
    EXPECT_EQ(find_cuda_home({}, root), "/usr/local/cuda");
    EXPECT_EQ(find_cuda_home({"CUDA_PATH=/toolkit"}, root), "/toolkit");
    EXPECT_EQ(find_cuda_home({"CUDA_HOME=/gone"}, root), "/usr/local/cuda");
    ASSERT_TRUE(remove_tree(root));
}

}  // namespace
}  // namespace kcoral::sandbox
