#include "base/process.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace kcoral {
namespace {

SpawnOptions shell(std::string script) {
    SpawnOptions options;
    options.arguments = {"sh", "-c", std::move(script)};
    options.environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
    return options;
}

// Runs a script with its output on a pipe and gives what it wrote.
std::string output_of(SpawnOptions options) {
    auto pipe = make_pipe().value();
    options.descriptors.push_back({&pipe.second, 1});
    auto process = Process::spawn(options).value();
    pipe.second.reset();
    std::string text;
    char buffer[256];
    ssize_t count;
    while ((count = ::read(pipe.first.get(), buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(count));
    process.wait();
    return text;
}

TEST(Process, TellsHowTheProgramEnded) {
    EXPECT_EQ(Process::spawn(shell("exit 3")).value().wait(), WaitStatus::exited(3));
    EXPECT_EQ(Process::spawn(shell("kill -SEGV $$")).value().wait(), WaitStatus::signaled(SIGSEGV));
}

TEST(Process, AProgramThatIsNotThereIsAnErrorOfSpawn) {
    SpawnOptions options;
    options.arguments = {"/nonexistent/program"};
    auto process = Process::spawn(options);
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().code, ErrorCode::not_found);
    EXPECT_NE(process.error().message.find("/nonexistent/program"), std::string::npos);
}

TEST(Process, TheChildGetsOnlyTheGivenEnvironmentAndFolder) {
    auto options = shell("echo $GREETING $HOME; pwd");
    options.directory = "/";
    EXPECT_EQ(output_of(options), "hello\n/\n");
}

TEST(Process, TheChildGetsExactlyTheListedDescriptors) {
    auto extra = make_pipe().value();
    auto secret = Fd(::dup(extra.first.get()));  // not close-on-exec: a careless library's
    auto options = shell("for n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done; true");
    options.descriptors = {{&extra.second, 7}};
    EXPECT_EQ(output_of(options), "7\n");
}

TEST(Process, DescriptorsMayTradeTheirNumbers) {
    auto one = make_pipe().value();
    auto two = make_pipe().value();
    auto options = shell("echo one >&" + std::to_string(two.second.get()) + "; echo two >&" +
                         std::to_string(one.second.get()));
    options.descriptors = {{&one.second, two.second.get()}, {&two.second, one.second.get()}};
    ASSERT_TRUE(Process::spawn(options).value().wait().success());
    char buffer[4];
    ASSERT_EQ(::read(one.first.get(), buffer, 4), 4);
    EXPECT_EQ(std::string(buffer, 3), "one");
}

TEST(Process, ThePidfdIsReadableOnceItEnded) {
    auto process = Process::spawn(shell("exit 0")).value();
    pollfd poll{process.pidfd().get(), POLLIN, 0};
    ASSERT_EQ(::poll(&poll, 1, 10'000), 1);
    EXPECT_EQ(process.try_wait(), WaitStatus::exited(0));
    EXPECT_FALSE(process.running());
    EXPECT_EQ(process.try_wait(), std::nullopt);
}

TEST(Process, NoProcessOutlivesItsOwner) {
    pid_t pid;
    {
        auto process = Process::spawn(shell("sleep 1000")).value();
        pid = process.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST(WaitStatus, DescribesItselfForPeople) {
    EXPECT_EQ(WaitStatus::exited(3).describe(), "exited with code 3");
    EXPECT_EQ(WaitStatus::signaled(SIGSEGV).describe(), "was killed by signal 11 (SIGSEGV)");
}

}  // namespace
}  // namespace kcoral
