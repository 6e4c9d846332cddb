#include "blob/upload_budget.hpp"

#include "blob/testing/loop.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <string>
#include <vector>

namespace kcoral::blob {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Requests with names: who was let in, in which order, and who is still there.
struct Requests {
    testing::Loop loop;
    UploadBudget budget;
    std::vector<std::string> let_in;
    std::map<std::string, UploadBudget::Permit> permits;
    std::list<asio::cancellation_signal> signals;
    int cancelled = 0;

    explicit Requests(std::uint64_t capacity) : budget(capacity) {}

    static asio::awaitable<void> request(Requests& self, std::string name, std::uint64_t bytes) {
        auto permit = co_await self.budget.acquire(bytes);
        self.let_in.push_back(name);
        self.permits.insert_or_assign(name, std::move(permit));
    }
    asio::cancellation_signal& start(std::string name, std::uint64_t bytes) {
        auto& signal = signals.emplace_back();
        auto done = [this](std::exception_ptr error) { cancelled += error != nullptr; };
        asio::co_spawn(loop.io, request(*this, name, bytes),
                       asio::bind_cancellation_slot(signal.slot(), done));
        loop.poll();
        return signal;
    }
    void end(const std::string& name) {
        permits.erase(name);
        loop.poll();
    }
    void cancel(asio::cancellation_signal& signal) {
        signal.emit(asio::cancellation_type::terminal);
        loop.poll();
    }
};

TEST(UploadBudget, LetsInWhatFitsToTheLastByte) {
    Requests requests(100);
    requests.start("a", 60);
    requests.start("b", 40);
    EXPECT_THAT(requests.let_in, ElementsAre("a", "b"));
    EXPECT_EQ(requests.budget.in_use(), 100u);
    requests.start("c", 1);
    EXPECT_THAT(requests.let_in, ElementsAre("a", "b"));
    EXPECT_EQ(requests.budget.waiting(), 1u);
    requests.end("b");
    EXPECT_THAT(requests.let_in, ElementsAre("a", "b", "c"));
    EXPECT_EQ(requests.budget.in_use(), 61u);
}

TEST(UploadBudget, NobodyOvertakes) {
    Requests requests(100);
    requests.start("a", 60);
    requests.start("large", 50);
    requests.start("tiny", 1);
    EXPECT_THAT(requests.let_in, ElementsAre("a"));
    requests.end("a");
    EXPECT_THAT(requests.let_in, ElementsAre("a", "large", "tiny"));
}

TEST(UploadBudget, MoreThanTheWholeBudgetGetsThroughAlone) {
    Requests requests(100);
    requests.start("a", 1);
    requests.start("huge", 1000);
    requests.start("b", 1);
    EXPECT_THAT(requests.let_in, ElementsAre("a"));
    requests.end("a");
    EXPECT_THAT(requests.let_in, ElementsAre("a", "huge"));
    requests.end("huge");
    EXPECT_THAT(requests.let_in, ElementsAre("a", "huge", "b"));
}

TEST(UploadBudget, APermitShrinksAndGivesBackTheRestOnce) {
    Requests requests(100);
    requests.start("a", 100);
    requests.start("b", 70);
    requests.permits["a"].shrink(200);  // no effect
    EXPECT_EQ(requests.permits["a"].bytes(), 100u);
    requests.permits["a"].shrink(30);
    requests.loop.poll();
    EXPECT_THAT(requests.let_in, ElementsAre("a", "b"));
    EXPECT_EQ(requests.budget.in_use(), 100u);
    auto moved = std::move(requests.permits["a"]);
    requests.end("a");
    EXPECT_EQ(requests.budget.in_use(), 100u);
    moved = UploadBudget::Permit();
    EXPECT_EQ(requests.budget.in_use(), 70u);
    requests.end("b");
    EXPECT_EQ(requests.budget.in_use(), 0u);
}

TEST(UploadBudget, ACancelledRequestLeavesTheQueueToThoseBehind) {
    Requests requests(100);
    requests.start("a", 60);
    auto& large = requests.start("large", 50);
    requests.start("b", 40);
    requests.cancel(large);
    EXPECT_EQ(requests.cancelled, 1);
    EXPECT_THAT(requests.let_in, ElementsAre("a", "b"));
    EXPECT_EQ(requests.budget.waiting(), 0u);
    requests.permits.clear();
    EXPECT_EQ(requests.budget.in_use(), 0u);
}

TEST(UploadBudget, ARequestCancelledInTheMomentOfItsTurnHoldsNothing) {
    Requests requests(100);
    requests.start("a", 100);
    auto& late = requests.start("late", 100);
    asio::post(requests.loop.io, [&] {
        requests.permits.erase("a");  // its turn has come, but it has not run yet
        EXPECT_EQ(requests.budget.in_use(), 100u);
        late.emit(asio::cancellation_type::terminal);
    });
    requests.loop.poll();
    EXPECT_EQ(requests.cancelled, 1);
    EXPECT_THAT(requests.let_in, ElementsAre("a"));
    EXPECT_EQ(requests.budget.in_use(), 0u);
}

TEST(UploadBudget, PermitsAndWaitersMayOutliveTheBudget) {
    testing::Loop loop;
    UploadBudget::Permit permit;
    {
        UploadBudget budget(10);
        permit = loop.run(budget.acquire(10));
        asio::co_spawn(loop.io, budget.acquire(1), asio::detached);
        loop.poll();
        EXPECT_EQ(budget.waiting(), 1u);
    }
    permit = UploadBudget::Permit();
    loop.poll();
}

}  // namespace
}  // namespace kcoral::blob
