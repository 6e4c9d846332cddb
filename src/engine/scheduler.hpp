// Scheduler: which request runs next and on which seat, and when workers are launched and retired.
//
// A pure machine: events go in by the methods, what has to be done comes out of take_actions(), in
// the order it has to be done. It knows no socket, clock or process. Used on the loop thread only.
//
// A seat is a place where one request can run at a time; its name ("cpu/w0") stays, the workers
// that sit on it come and go, each a generation. Where every request gets a fresh worker, a seat
// keeps one more worker than it uses, forked ahead, so that a request finds one ready while the
// last one's is still being torn down.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kcoral::engine {

using RequestKey = std::uint64_t;
using WorkerKey = std::uint64_t;

// Why a worker leaves its seat.
enum class RetireReason {
    request_limit,     // it served as many requests as it may
    poisoned_context,  // its CUDA context is broken
    sandbox_cleanup,   // the program left something that cannot be undone
    timeout,           // the program used up its execution budget
    crashed,           // it died, or broke the channel's rules
    cancelled,         // the client went away while it worked
    shutdown,          // the server stops
};

std::string_view to_string(RetireReason reason);

struct SeatPlace {
    std::string name;  // "cpu/w0"
    int device = 0;    // seats of one device share it; the least busy device is served first
};

struct SchedulerOptions {
    std::vector<SeatPlace> seats;
    unsigned max_requests_per_worker = 1;  // 0: no limit
    // A seat whose retired workers are not gone yet launches no more beyond this many of them.
    std::size_t max_lingering_workers = 8;
    std::chrono::milliseconds first_retry_delay{100};
    std::chrono::milliseconds longest_retry_delay{5000};
};

struct LaunchWorker {
    std::size_t seat;
    std::uint64_t generation;
    WorkerKey worker;
};
struct RetireWorker {
    WorkerKey worker;
    RetireReason reason;
};
struct AssignRequest {
    RequestKey request;
    WorkerKey worker;
    bool last;  // the worker retires after this one, whatever becomes of it
};
struct RejectRequest {  // the server is closing
    RequestKey request;
};
struct RetryLaunch {  // call retry_launch(seat) after the delay
    std::size_t seat;
    std::chrono::milliseconds delay;
};
using Action = std::variant<LaunchWorker, RetireWorker, AssignRequest, RejectRequest, RetryLaunch>;

class Scheduler {
  public:
    explicit Scheduler(SchedulerOptions options);

    // The zygote can fork, or no longer can. Its loss takes all its workers with it; each of them
    // is still reported gone by worker_gone.
    void zygote_ready();
    void zygote_lost();

    // The worker can take a program: its first one, or another one.
    void worker_ready(WorkerKey worker);
    // The worker's process tree is gone, expected or not; also how a failed launch ends.
    void worker_gone(WorkerKey worker);
    void retry_launch(std::size_t seat);

    void submit(RequestKey request);
    // The request no longer waits (cancelled, waited too long). No effect once it is assigned.
    void withdraw(RequestKey request);
    // The request on this worker has its outcome. With a reason the worker is not used again, else
    // once it is ready again.
    void request_ended(WorkerKey worker, std::optional<RetireReason> retire);

    // No more requests are taken and the waiting ones are rejected; workers without a request
    // retire, the others when theirs has ended.
    void close();

    std::vector<Action> take_actions();

    struct Load {
        std::size_t capacity;  // seats able to serve, busy or free; 0 once closing
        std::size_t running;
        std::size_t waiting;
    };
    Load load() const;

    // Settling: the request has its outcome, the worker clears up after it.
    enum class WorkerState { launching, ready, busy, settling, retired };
    struct SeatView {
        std::string name;
        std::uint64_t generation;
        std::optional<WorkerState> state;  // nothing: no worker sits there now
        std::optional<RequestKey> request;
        bool spare_ready;
    };
    std::vector<SeatView> seats() const;
    const SeatPlace& place_of(std::size_t seat) const { return seats_[seat].place; }
    bool closed() const { return closed_; }
    // Every worker is gone: after close() the end has come.
    bool idle() const { return workers_.empty(); }

  private:
    struct Worker {
        std::size_t seat;
        std::uint64_t generation;
        WorkerState state = WorkerState::launching;
        std::optional<RequestKey> request;
        unsigned served = 0;
    };
    struct Seat {
        SeatPlace place;
        std::uint64_t generation = 0;  // of the newest worker launched
        std::optional<WorkerKey> current;
        std::optional<WorkerKey> spare;
        std::size_t lingering = 0;  // retired workers that are not gone
        std::chrono::milliseconds retry_delay{0};
        bool retry_pending = false;
    };

    void fill(std::size_t seat);
    std::optional<WorkerKey> launch(std::size_t seat);
    void retire(WorkerKey worker, RetireReason reason);
    void dispatch();
    std::optional<WorkerKey> choose_worker() const;
    void fail_launch(std::size_t seat);

    SchedulerOptions options_;
    std::vector<Seat> seats_;
    std::map<WorkerKey, Worker> workers_;
    std::deque<RequestKey> waiting_;
    std::vector<Action> actions_;
    WorkerKey next_worker_ = 1;
    bool can_fork_ = false;
    bool closed_ = false;
};

}  // namespace kcoral::engine
