// What the sandbox promises, tried by a worker that misbehaves.
#include "base/remove_tree.hpp"
#include "sandbox/preflight.hpp"
#include "sandbox/privileges.hpp"
#include "sandbox/testing/sandbox_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <tuple>

namespace kcoral::sandbox {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SandboxRun;
using ::testing::UnorderedElementsAre;
using testing::Where;
using testing::Who;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // sanitizers take address space by the terabyte
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

std::vector<std::string> lines_of(const std::string& text, std::string_view beginning) {
    std::vector<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(beginning)) found.push_back(line);
    return found;
}

#define SKIP_WHERE_IMPOSSIBLE(run) \
    if (std::string why = (run).why_impossible(); !why.empty()) GTEST_SKIP() << "missing: " << why

// --- in the sandbox, as root and as a plain user ---

class Sandbox : public ::testing::TestWithParam<Who> {
  protected:
    Sandbox() : run_(GetParam(), Where::sandbox) {}
    void SetUp() override { SKIP_WHERE_IMPOSSIBLE(run_); }
    SandboxRun run_;
};

TEST_P(Sandbox, LeavesAWorkerNoPrivilege) {
    std::string text = run_.run({"who"});
    EXPECT_THAT(text, HasSubstr("pid: 2\nparent: 1\nfolder: /work\n"));
    EXPECT_THAT(text, HasSubstr("worker 0: exited with code 0"));
    for (const std::string& line : lines_of(text, "Cap"))
        EXPECT_THAT(line, EndsWith("\t0000000000000000"));
    EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
}

TEST_P(Sandbox, RunsSeatsOfARootUnderUsersOfTheirOwn) {
    if (GetParam() != Who::root) return;
    EXPECT_THAT(run_.run({"who"}), HasSubstr("root: false"));
}

TEST_P(Sandbox, ShowsOnlyTheSeatsProcesses) {
    EXPECT_THAT(lines_of(run_.run({"list-processes"}), "sees:"),
                UnorderedElementsAre("sees: 1", "sees: 2"));
}

TEST_P(Sandbox, HandsAWorkerOnlyItsStandardStreams) {
    EXPECT_THAT(lines_of(run_.run({"descriptors"}), "descriptor:"),
                UnorderedElementsAre("descriptor: 0", "descriptor: 1", "descriptor: 2"));
}

TEST_P(Sandbox, LetsAWorkerWriteItsWorkspaceAndNothingElse) {
    std::string text = run_.run({"write-everywhere"});
    for (const std::string& line : lines_of(text, "write")) {
        bool own = line.starts_with("write /work:") || line.starts_with("write /tmp:") ||
                   line.starts_with("write /var/tmp:") || line.starts_with("write /dev/shm:");
        EXPECT_EQ(line.ends_with(": done"), own) << line;
    }
}

TEST_P(Sandbox, HidesOtherWorkspacesAndTheHostsFiles) {
    std::string secret = run_.workspaces() + "/secret";
    ASSERT_EQ(::mkdir(secret.c_str(), 0777), 0);
    std::string text =
        run_.run({"list=/workspaces", "list=/workspaces/secret", "read=/etc/shadow",
                  "read=/etc/hostname", "list=/home", "read=/proc/1/environ", "list=/mnt",
                  "list=" + run_.workspaces(), "list=/root/.ssh", "read=/dev/mem"});
    EXPECT_THAT(text, HasSubstr("list /workspaces: done"));
    EXPECT_THAT(lines_of(text, "entry:"), ::testing::IsEmpty());
    for (const char* hidden :
         {"list /workspaces/secret:", "read /etc/shadow:", "read /etc/hostname:", "list /home:",
          "read /proc/1/environ:", "list /mnt:", "list /root/.ssh:", "read /dev/mem:"})
        EXPECT_THAT(lines_of(text, hidden), Each(Not(EndsWith(": done"))));
}

TEST_P(Sandbox, RefusesWhatReachesForTheKernel) {
    std::string text = run_.run({"kernel"});
    EXPECT_THAT(text, HasSubstr("clone3: Function not implemented"));
    EXPECT_THAT(text, HasSubstr("mount: Operation not permitted"));
    EXPECT_THAT(lines_of(text, ""), Each(Not(EndsWith(": done"))));
    EXPECT_GT(lines_of(text, "").size(), 30U);
}

TEST_P(Sandbox, LetsAWorkerTraceItsOwnChild) {
    std::string text = run_.run({"trace-own-child"});
    EXPECT_THAT(text, HasSubstr("trace own child: done"));
    EXPECT_THAT(text, HasSubstr("worker 0: exited with code 5"));
}

TEST_P(Sandbox, GivesLoopbackButNoNetwork) {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener.get(), 4), 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    std::string port = std::to_string(ntohs(address.sin_port));
    EXPECT_THAT(run_.run({"connect=" + port}), HasSubstr("connect: Connection refused"));
    EXPECT_THAT(run_.run({"loopback"}), HasSubstr("connect: done"));
}

TEST_P(Sandbox, KeepsSeatsFromEachOthersSocketsAndSharedMemory) {
    std::string text = run_.run({"serve-abstract=kcoral-test", "connect-abstract=kcoral-test",
                                 "share-memory", "share-memory"});
    EXPECT_THAT(text, HasSubstr("serve: done"));
    EXPECT_THAT(text, HasSubstr("connect: Connection refused"));
    EXPECT_EQ(lines_of(text, "make System V memory: done").size(), 2U);
}

TEST_P(Sandbox, BoundsAForkBombWithoutHurtingItsNeighbour) {
    if (GetParam() == Who::plain_user && !counts_processes_by_namespace())
        GTEST_SKIP() << "missing: processes counted by user namespace (Linux 5.14)";
    std::string text = run_.run({"processes=64", "bomb", "fork-a-little"});
    auto forked = lines_of(text, "forked: ");
    ASSERT_EQ(forked.size(), 1U);
    EXPECT_LT(std::stoi(forked[0].substr(8)), 64);
    // ThreadSanitizer gives every process a second thread, which counts too.
    EXPECT_GT(std::stoi(forked[0].substr(8)), 25);
    EXPECT_THAT(text, HasSubstr("forked a little: 5"));
}

TEST_P(Sandbox, LimitsMemoryFilesAndDescriptors) {
    struct Case {
        const char* limit;
        const char* deed;
        const char* outcome;
    };
    for (const Case& c : {
             Case{"memory=268435456", "take-memory=300000000", "take memory: refused"},
             Case{"memory=268435456", "take-memory=1000000", "take memory: done"},
             Case{"address_space=2000000000", "take-memory=2000000000", "take memory: refused"},
             Case{"open_files=100", "open-many", "opened: 97"},
             Case{"file_size=100000", "write-much=200000", "wrote: 100000"},
             Case{"file_size=200000", "write-much=200000", "wrote: 200000"},
             Case{"workspace_size=1048576", "write-much=2000000", "wrote: 1048576"},
             Case{"workspace_size=4194304", "write-much=2000000", "wrote: 2000000"},
         }) {
        if (sanitized && std::string_view(c.deed).starts_with("take-memory")) continue;
        EXPECT_THAT(run_.run({c.limit, c.deed}), HasSubstr(c.outcome)) << c.limit << " " << c.deed;
    }
}

TEST_P(Sandbox, ShowsReadOnlyPathsThatLieWhereTheWorkspaceCovers) {
    std::string folder = "/tmp/kcoral-shown-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder.data()));
    ::chmod(folder.c_str(), 0755);
    ASSERT_GE(::close(::open((folder + "/file").c_str(), O_CREAT | O_WRONLY, 0644)), 0);
    run_.policy().readonly_paths.push_back(folder);
    EXPECT_THAT(run_.run({"list=" + folder, "write-everywhere"}),
                AllOf(HasSubstr("entry: file"), HasSubstr("write /tmp: done")));
    ASSERT_TRUE(remove_tree(folder));
}

TEST_P(Sandbox, PassesThePreflight) {
    Policy policy = run_.policy();
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "missing: /usr/bin/python3";
    EXPECT_EQ(run_.preflight(policy), "");
}

TEST_P(Sandbox, IsRefusedByThePreflightWhenPythonCannotBeStarted) {
    Policy policy = run_.policy();
    policy.python.executable = "/usr/bin/no-such-python";
    EXPECT_THAT(run_.preflight(policy),
                AllOf(HasSubstr("Python"), HasSubstr("/usr/bin/no-such-python")));
}

INSTANTIATE_TEST_SUITE_P(As, Sandbox, ::testing::Values(Who::root, Who::plain_user),
                         [](const auto& who) { return to_string(who.param); });

TEST(Preflight, NamesAMissingBubblewrap) {
    Policy policy;
    policy.bubblewrap = "no-such-bubblewrap";
    auto failed = preflight(policy, {"/bin/true", {}});
    ASSERT_TRUE(failed);
    EXPECT_THAT(failed->cause, HasSubstr("not installed"));
    EXPECT_THAT(failed->remedy, HasSubstr("Install"));
}

// --- trees that die, everywhere ---

class Seats : public ::testing::TestWithParam<std::tuple<Who, Where>> {
  protected:
    Seats() : run_(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
    void SetUp() override {
        SKIP_WHERE_IMPOSSIBLE(run_);
        const std::string isolation[] = {"sandbox", "process_tree", "session"};
        std::string text = run_.run({"exit=0"});
        ASSERT_THAT(
            text, HasSubstr("isolation: " + isolation[static_cast<int>(std::get<1>(GetParam()))]));
    }
    SandboxRun run_;
};

TEST_P(Seats, TellHowTheirWorkerEnded) {
    std::string text = run_.run({"exit=0", "exit=42", "die=11", "die=9"});
    EXPECT_THAT(text, HasSubstr("worker 0: exited with code 0"));
    EXPECT_THAT(text, HasSubstr("worker 1: exited with code 42"));
    EXPECT_THAT(text, HasSubstr("worker 2: was killed by signal 11 (SIGSEGV)"));
    EXPECT_THAT(text, HasSubstr("worker 3: was killed by signal 9 (SIGKILL)"));
}

TEST_P(Seats, SayWhyTheyCannotBeSetUp) {
    std::string text = run_.run({"exit=MISSING"});
    EXPECT_THAT(text, HasSubstr("the worker's seat cannot be set up: "));
    EXPECT_THAT(text, HasSubstr("No such file or directory"));
    EXPECT_THAT(text, HasSubstr("worker 0: exited with code 125"));
}

// Output ends only when every process that holds it is dead, so run() itself is the check.
TEST_P(Seats, TakeEveryDescendantAlong) {
    for (const char* deed : {"daemon", "daemon=stopped", "chain"})
        EXPECT_THAT(run_.run({deed}), HasSubstr("worker 0: exited with code 0")) << deed;
}

TEST_P(Seats, DieWithTheirZygote) {
    run_.start({"sleep", "sleep"});
    run_.wait_for_line("sleeping");
    run_.process().signal(SIGKILL);
    run_.read_all();
}

TEST_P(Seats, PassSigtermToTheWorkerAndDieBySigkill) {
    run_.start({"signalled=15", "end-on-sigterm"});
    EXPECT_THAT(run_.read_all(), HasSubstr("worker 0: exited with code 77"));
    run_.start({"signalled=9", "daemon-and-sleep"});
    EXPECT_THAT(run_.read_all(), HasSubstr("worker 0: its init said nothing"));
}

TEST_P(Seats, FindWaitForAndKillWhatAProgramLeft) {
    for (const char* deed : {"clear-up", "clear-up=stopped"}) {
        std::string text = run_.run({deed});
        EXPECT_THAT(text, HasSubstr("left at first: 0\n"));
        EXPECT_THAT(text, HasSubstr("left after: 1\n"));
        EXPECT_THAT(text, HasSubstr("left after waiting: 1\n"));
        EXPECT_THAT(text, HasSubstr("killed: all\n"));
        EXPECT_THAT(text, HasSubstr("left at last: 0\n"));
    }
    EXPECT_THAT(run_.run({"wait-for-a-child"}), HasSubstr("left after waiting: 0"));
}

TEST_P(Seats, HandAWorkerOnlyItsStandardStreams) {
    EXPECT_THAT(lines_of(run_.run({"descriptors"}), "descriptor:"),
                UnorderedElementsAre("descriptor: 0", "descriptor: 1", "descriptor: 2"));
}

INSTANTIATE_TEST_SUITE_P(As, Seats,
                         ::testing::Combine(::testing::Values(Who::root, Who::plain_user),
                                            ::testing::Values(Where::sandbox, Where::host,
                                                              Where::barred)),
                         [](const auto& p) {
                             return to_string(std::get<0>(p.param)) + "_in_" +
                                    to_string(std::get<1>(p.param));
                         });

}  // namespace
}  // namespace kcoral::sandbox
