#include "engine/scheduler.hpp"

#include <gtest/gtest.h>

#include <set>

namespace kcoral::engine {
namespace {

using std::chrono::milliseconds;

SchedulerOptions options(std::size_t seats, unsigned max_requests = 1) {
    SchedulerOptions made;
    for (std::size_t i = 0; i < seats; ++i)
        made.seats.push_back({"cpu/w" + std::to_string(i), 0});
    made.max_requests_per_worker = max_requests;
    return made;
}

template <typename T>
std::vector<T> only(const std::vector<Action>& actions) {
    std::vector<T> found;
    for (const Action& action : actions)
        if (auto* wanted = std::get_if<T>(&action)) found.push_back(*wanted);
    return found;
}

// A scheduler whose launches all succeed at once.
struct Bench {
    Scheduler scheduler;
    explicit Bench(SchedulerOptions made) : scheduler(std::move(made)) {
        scheduler.zygote_ready();
        settle();
    }
    // Reports every launched worker ready until nothing more is launched; gives the other actions.
    std::vector<Action> settle() {
        std::vector<Action> others;
        for (auto actions = scheduler.take_actions(); !actions.empty();
             actions = scheduler.take_actions()) {
            for (Action& action : actions) {
                if (auto* launch = std::get_if<LaunchWorker>(&action))
                    scheduler.worker_ready(launch->worker);
                else
                    others.push_back(action);
            }
        }
        return others;
    }
    std::vector<AssignRequest> assigned() { return only<AssignRequest>(settle()); }
};

TEST(Scheduler, LaunchesASeatsWorkerAndOneAheadWhenRequestsGetFreshOnes) {
    Scheduler fresh(options(2, 1));
    fresh.zygote_ready();
    EXPECT_EQ(only<LaunchWorker>(fresh.take_actions()).size(), 4u);
    Scheduler reused(options(2, 0));
    reused.zygote_ready();
    EXPECT_EQ(only<LaunchWorker>(reused.take_actions()).size(), 2u);
}

TEST(Scheduler, NothingIsLaunchedBeforeTheZygoteIsReady) {
    Scheduler scheduler(options(1));
    scheduler.submit(1);
    EXPECT_TRUE(scheduler.take_actions().empty());
    EXPECT_EQ(scheduler.load().capacity, 0u);
    EXPECT_EQ(scheduler.load().waiting, 1u);
}

TEST(Scheduler, RequestsAreServedInTheOrderTheyCame) {
    Bench bench(options(1, 0));
    for (RequestKey request : {1, 2, 3})
        bench.scheduler.submit(request);
    std::vector<RequestKey> order;
    for (int i = 0; i < 3; ++i) {
        auto assigned = bench.assigned();
        ASSERT_EQ(assigned.size(), 1u);
        order.push_back(assigned[0].request);
        bench.scheduler.request_ended(assigned[0].worker, std::nullopt);
        bench.scheduler.worker_ready(assigned[0].worker);
    }
    EXPECT_EQ(order, (std::vector<RequestKey>{1, 2, 3}));
}

TEST(Scheduler, AWorkerServesItsLimitOfRequestsAndLeaves) {
    Bench bench(options(1, 2));
    std::set<WorkerKey> workers;
    for (RequestKey request : {1, 2, 3}) {
        bench.scheduler.submit(request);
        auto assigned = bench.assigned();
        ASSERT_EQ(assigned.size(), 1u);
        workers.insert(assigned[0].worker);
        EXPECT_EQ(assigned[0].last, request == 2);
        bench.scheduler.request_ended(assigned[0].worker, std::nullopt);
        bench.scheduler.worker_ready(assigned[0].worker);
        auto retired = only<RetireWorker>(bench.settle());
        ASSERT_EQ(retired.size(), request == 2 ? 1u : 0u);
        if (!retired.empty()) {
            EXPECT_EQ(retired[0].reason, RetireReason::request_limit);
        }
    }
    EXPECT_EQ(workers.size(), 2u);
}

TEST(Scheduler, AWorkerThatServesAgainIsGivenNothingBeforeItSaysThatItIsReady) {
    Bench bench(options(1, 0));
    bench.scheduler.submit(1);
    bench.scheduler.submit(2);
    auto worker = bench.assigned().at(0).worker;
    bench.scheduler.request_ended(worker, std::nullopt);
    EXPECT_TRUE(bench.assigned().empty());
    EXPECT_EQ(bench.scheduler.load().capacity, 1u);
    bench.scheduler.worker_ready(worker);
    EXPECT_EQ(bench.assigned().at(0).request, 2u);
}

TEST(Scheduler, AWorkerThatDiesWhileItClearsUpTakesNoRequestWithIt) {
    Bench bench(options(1, 0));
    bench.scheduler.submit(1);
    bench.scheduler.submit(2);
    auto worker = bench.assigned().at(0).worker;
    bench.scheduler.request_ended(worker, std::nullopt);
    bench.scheduler.worker_gone(worker);
    auto assigned = bench.assigned();
    ASSERT_EQ(assigned.size(), 1u);
    EXPECT_EQ(assigned[0].request, 2u);
    EXPECT_NE(assigned[0].worker, worker);
}

TEST(Scheduler, TheNextRequestTakesTheSpareBeforeTheOldWorkerIsGone) {
    Bench bench(options(1, 1));
    bench.scheduler.submit(1);
    auto first = bench.assigned().at(0).worker;
    bench.scheduler.submit(2);
    EXPECT_TRUE(bench.assigned().empty());
    bench.scheduler.request_ended(first, std::nullopt);
    auto actions = bench.scheduler.take_actions();
    EXPECT_EQ(only<RetireWorker>(actions).size(), 1u);
    EXPECT_EQ(only<AssignRequest>(actions).at(0).request, 2u);
    EXPECT_EQ(only<LaunchWorker>(actions).size(), 1u) << "a new spare is forked at once";
}

TEST(Scheduler, ASeatWhoseRetiredWorkersLingerStopsLaunching) {
    auto made = options(1, 1);
    made.max_lingering_workers = 2;
    Bench bench(made);
    std::vector<WorkerKey> lingering;
    for (RequestKey request : {1, 2, 3, 4}) {
        bench.scheduler.submit(request);
        auto assigned = bench.assigned();
        if (assigned.empty()) break;
        lingering.push_back(assigned[0].worker);
        bench.scheduler.request_ended(assigned[0].worker, std::nullopt);
        bench.settle();
    }
    // Two linger; a worker and its spare were there already when the second of them retired.
    EXPECT_EQ(lingering.size(), 3u);
    EXPECT_EQ(bench.scheduler.load().capacity, 0u);
    EXPECT_EQ(bench.scheduler.load().waiting, 1u);
    for (WorkerKey worker : lingering)
        bench.scheduler.worker_gone(worker);
    EXPECT_EQ(bench.assigned().at(0).request, 4u);
}

TEST(Scheduler, AFailedLaunchIsTriedAgainLaterEachTimeUpToTheLongestDelay) {
    auto made = options(1, 0);
    made.first_retry_delay = milliseconds(100);
    made.longest_retry_delay = milliseconds(300);
    Scheduler scheduler(made);
    scheduler.zygote_ready();
    std::vector<long> delays;
    for (int i = 0; i < 4; ++i) {
        auto launches = only<LaunchWorker>(scheduler.take_actions());
        ASSERT_EQ(launches.size(), 1u);
        scheduler.worker_gone(launches[0].worker);
        auto retries = only<RetryLaunch>(scheduler.take_actions());
        ASSERT_EQ(retries.size(), 1u);
        delays.push_back(static_cast<long>(retries[0].delay.count()));
        scheduler.retry_launch(retries[0].seat);
    }
    EXPECT_EQ(delays, (std::vector<long>{100, 200, 300, 300}));
    auto launch = only<LaunchWorker>(scheduler.take_actions()).at(0);
    scheduler.worker_ready(launch.worker);
    scheduler.request_ended(launch.worker, RetireReason::crashed);
    launch = only<LaunchWorker>(scheduler.take_actions()).at(0);
    scheduler.worker_gone(launch.worker);
    EXPECT_EQ(only<RetryLaunch>(scheduler.take_actions()).at(0).delay, milliseconds(100))
        << "a success in between starts the delays afresh";
}

TEST(Scheduler, AReadyWorkerThatDiesUnusedIsReplacedWithoutDelay) {
    Bench bench(options(1, 0));
    bench.scheduler.submit(1);
    auto worker = bench.assigned().at(0).worker;
    bench.scheduler.request_ended(worker, std::nullopt);
    bench.scheduler.worker_gone(worker);
    EXPECT_EQ(only<LaunchWorker>(bench.scheduler.take_actions()).size(), 1u);
}

TEST(Scheduler, TheLossOfTheZygoteStopsLaunchesUntilAnotherIsReady) {
    Bench bench(options(1, 0));
    bench.scheduler.submit(1);
    auto worker = bench.assigned().at(0).worker;
    bench.scheduler.zygote_lost();
    bench.scheduler.request_ended(worker, RetireReason::crashed);
    bench.scheduler.worker_gone(worker);
    EXPECT_TRUE(only<LaunchWorker>(bench.scheduler.take_actions()).empty());
    bench.scheduler.submit(2);
    bench.scheduler.zygote_ready();
    EXPECT_EQ(bench.assigned().at(0).request, 2u);
}

TEST(Scheduler, AWithdrawnRequestIsNeverAssigned) {
    Bench bench(options(1, 0));
    for (RequestKey request : {1, 2, 3})
        bench.scheduler.submit(request);
    bench.scheduler.withdraw(2);
    auto first = bench.assigned().at(0);
    bench.scheduler.request_ended(first.worker, std::nullopt);
    bench.scheduler.worker_ready(first.worker);
    EXPECT_EQ(bench.assigned().at(0).request, 3u);
}

TEST(Scheduler, TheLeastBusyDeviceIsServedFirst) {
    SchedulerOptions made;
    made.seats = {{"gpu0/w0", 0}, {"gpu0/w1", 0}, {"gpu1/w0", 1}, {"gpu1/w1", 1}};
    made.max_requests_per_worker = 0;
    Bench bench(made);
    for (RequestKey request : {1, 2, 3, 4})
        bench.scheduler.submit(request);
    bench.settle();
    std::map<RequestKey, std::string> where;
    for (const auto& seat : bench.scheduler.seats())
        if (seat.request) where[*seat.request] = seat.name.substr(0, 4);
    EXPECT_EQ(where[1], "gpu0");
    EXPECT_EQ(where[2], "gpu1");
    EXPECT_EQ(where[3], "gpu0");
    EXPECT_EQ(where[4], "gpu1");
}

TEST(Scheduler, ClosingRejectsTheWaitingAndLetsTheRunningFinish) {
    Bench bench(options(1, 0));
    bench.scheduler.submit(1);
    auto worker = bench.assigned().at(0).worker;
    bench.scheduler.submit(2);
    bench.scheduler.close();
    bench.scheduler.submit(3);
    auto rejected = only<RejectRequest>(bench.scheduler.take_actions());
    ASSERT_EQ(rejected.size(), 2u);
    EXPECT_EQ(rejected[0].request, 2u);
    EXPECT_EQ(bench.scheduler.load().capacity, 0u);
    EXPECT_EQ(bench.scheduler.load().running, 1u);
    bench.scheduler.request_ended(worker, std::nullopt);
    EXPECT_EQ(only<RetireWorker>(bench.scheduler.take_actions()).at(0).reason,
              RetireReason::shutdown);
    EXPECT_FALSE(bench.scheduler.idle());
    bench.scheduler.worker_gone(worker);
    EXPECT_TRUE(bench.scheduler.idle());
}

TEST(Scheduler, ClosingRetiresWorkersThatWaitAndLaunchesNone) {
    Bench bench(options(2, 1));
    bench.scheduler.close();
    auto actions = bench.scheduler.take_actions();
    EXPECT_EQ(only<RetireWorker>(actions).size(), 4u);
    EXPECT_TRUE(only<LaunchWorker>(actions).empty());
}

TEST(Scheduler, EventsOfWorkersItDoesNotKnowAreIgnored) {
    Bench bench(options(1, 0));
    bench.scheduler.worker_ready(99);
    bench.scheduler.worker_gone(99);
    bench.scheduler.request_ended(99, std::nullopt);
    EXPECT_TRUE(bench.scheduler.take_actions().empty());
}

}  // namespace
}  // namespace kcoral::engine
