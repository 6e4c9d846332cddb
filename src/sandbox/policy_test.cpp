#include "sandbox/policy.hpp"

#include "base/remove_tree.hpp"
#include "sandbox/paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace kcoral::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Policy, IsComparedByValueAndPrintsWhatItHolds) {
    Policy policy;
    policy.workspaces = "/var/kcoral";
    policy.readonly_paths = {"/data/a", "/data/b"};
    policy.limits.memory = 1000;
    EXPECT_EQ(policy, Policy(policy));
    EXPECT_NE(policy, Policy());
    EXPECT_THAT(to_string(policy), HasSubstr("workspaces: /var/kcoral\n"));
    EXPECT_THAT(to_string(policy), HasSubstr("readonly paths: /data/a /data/b\n"));
    EXPECT_THAT(to_string(policy), HasSubstr("memory=1000 processes="));
}

TEST(Policy, IsRefusedForPathsThatCannotBeShown) {
    Policy good;
    good.workspaces = "/tmp";
    EXPECT_TRUE(check(good));
    for (const char* path : {"relative", "/", "//", "/usr/..", "/no/such/path"}) {
        Policy policy = good;
        policy.readonly_paths = {path};
        EXPECT_FALSE(check(policy)) << path;
    }
    Policy python_inside = good;
    python_inside.python.paths = {"/tmp/venv"};
    EXPECT_FALSE(check(python_inside));
    python_inside.python.paths = {"/tmpvenv"};
    EXPECT_TRUE(check(python_inside));
}

TEST(Paths, CoverWhatLiesInThem) {
    EXPECT_TRUE(lies_in("/a/b", "/a"));
    EXPECT_TRUE(lies_in("/a", "/a"));
    EXPECT_TRUE(lies_in("/a", "/"));
    EXPECT_FALSE(lies_in("/ab", "/a"));
    EXPECT_FALSE(lies_in("/", "/a"));
    EXPECT_THAT(without_covered({"/a/b", "/c", "/a", "/c/d", "/ab"}),
                ElementsAre("/c", "/a", "/ab"));
}

TEST(GpuFiles, AreThoseOfTheGpusAndTheDriver) {
    std::string root = "/tmp/kcoral-gpu-XXXXXX";
    ASSERT_TRUE(::mkdtemp(root.data()));
    for (const char* folder : {"/dev", "/usr/local/nvidia/lib64"})
        std::filesystem::create_directories(root + folder);
    for (const char* device : {"nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "sda"})
        std::ofstream(root + "/dev/" + device);
    GpuFiles files = find_gpu_files({0, 2, 7}, root);
    EXPECT_THAT(files.devices,
                ElementsAre("/dev/nvidia0", "/dev/nvidia2", "/dev/nvidiactl", "/dev/nvidia-uvm"));
    EXPECT_THAT(files.driver_paths, ElementsAre("/usr/local/nvidia"));
    ASSERT_TRUE(remove_tree(root));
}

}  // namespace
}  // namespace kcoral::sandbox
