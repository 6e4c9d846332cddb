// Seats, workers and the queue of requests.
#include "engine/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace kcoral::engine {

std::string_view to_string(RetireReason reason) {
    switch (reason) {
        case RetireReason::request_limit:
            return "request_limit";
        case RetireReason::poisoned_context:
            return "poisoned_context";
        case RetireReason::sandbox_cleanup:
            return "sandbox_cleanup";
        case RetireReason::timeout:
            return "timeout";
        case RetireReason::crashed:
            return "crashed";
        case RetireReason::cancelled:
            return "cancelled";
        case RetireReason::shutdown:
            return "shutdown";
    }
    return "unknown";
}

Scheduler::Scheduler(SchedulerOptions options) : options_(std::move(options)) {
    for (const SeatPlace& place : options_.seats)
        seats_.emplace_back().place = place;
}

void Scheduler::zygote_ready() {
    can_fork_ = true;
    for (std::size_t seat = 0; seat < seats_.size(); ++seat)
        fill(seat);
}

void Scheduler::zygote_lost() {
    can_fork_ = false;
}

void Scheduler::worker_ready(WorkerKey key) {
    auto found = workers_.find(key);
    if (found == workers_.end()) return;
    WorkerState& state = found->second.state;
    if (state != WorkerState::launching && state != WorkerState::settling) return;
    state = WorkerState::ready;
    seats_[found->second.seat].retry_delay = {};
    dispatch();
}

void Scheduler::worker_gone(WorkerKey key) {
    auto found = workers_.find(key);
    if (found == workers_.end()) return;
    Worker worker = found->second;
    workers_.erase(found);
    Seat& seat = seats_[worker.seat];
    if (worker.state == WorkerState::retired) --seat.lingering;
    if (seat.current == key) seat.current.reset();
    if (seat.spare == key) seat.spare.reset();
    if (worker.state == WorkerState::launching) fail_launch(worker.seat);
    fill(worker.seat);
    dispatch();
}

// A launch that fails is tried again, later each time, so that a broken machine is not hammered.
void Scheduler::fail_launch(std::size_t index) {
    Seat& seat = seats_[index];
    if (closed_ || seat.retry_pending) return;
    seat.retry_delay = seat.retry_delay.count() == 0
                           ? options_.first_retry_delay
                           : std::min(seat.retry_delay * 2, options_.longest_retry_delay);
    seat.retry_pending = true;
    actions_.push_back(RetryLaunch{index, seat.retry_delay});
}

void Scheduler::retry_launch(std::size_t seat) {
    seats_[seat].retry_pending = false;
    fill(seat);
}

void Scheduler::submit(RequestKey request) {
    if (closed_) {
        actions_.push_back(RejectRequest{request});
        return;
    }
    waiting_.push_back(request);
    dispatch();
}

void Scheduler::withdraw(RequestKey request) {
    std::erase(waiting_, request);
}

void Scheduler::request_ended(WorkerKey key, std::optional<RetireReason> reason) {
    auto found = workers_.find(key);
    if (found == workers_.end()) return;
    Worker& worker = found->second;
    worker.request.reset();
    ++worker.served;
    unsigned limit = options_.max_requests_per_worker;
    if (!reason && limit != 0 && worker.served >= limit) reason = RetireReason::request_limit;
    if (!reason && closed_) reason = RetireReason::shutdown;
    if (reason)
        retire(key, *reason);
    else
        worker.state = WorkerState::settling;
    dispatch();
}

void Scheduler::retire(WorkerKey key, RetireReason reason) {
    Worker& worker = workers_.at(key);
    worker.state = WorkerState::retired;
    Seat& seat = seats_[worker.seat];
    ++seat.lingering;
    if (seat.current == key) seat.current.reset();
    if (seat.spare == key) seat.spare.reset();
    actions_.push_back(RetireWorker{key, reason});
    fill(worker.seat);
}

// Seats the spare where nobody sits, and launches what the seat lacks.
void Scheduler::fill(std::size_t index) {
    Seat& seat = seats_[index];
    if (!seat.current) seat.current = std::exchange(seat.spare, std::nullopt);
    if (closed_ || !can_fork_ || seat.retry_pending) return;
    if (!seat.current) seat.current = launch(index);
    bool every_request_fresh = options_.max_requests_per_worker == 1;
    if (every_request_fresh && !seat.spare) seat.spare = launch(index);
}

std::optional<WorkerKey> Scheduler::launch(std::size_t index) {
    Seat& seat = seats_[index];
    if (seat.lingering >= options_.max_lingering_workers) return std::nullopt;
    WorkerKey key = next_worker_++;
    workers_[key] = Worker{.seat = index, .generation = ++seat.generation};
    actions_.push_back(LaunchWorker{index, seat.generation, key});
    return key;
}

void Scheduler::dispatch() {
    while (!waiting_.empty()) {
        auto key = choose_worker();
        if (!key) return;
        Worker& worker = workers_.at(*key);
        worker.state = WorkerState::busy;
        worker.request = waiting_.front();
        unsigned limit = options_.max_requests_per_worker;
        bool last = limit != 0 && worker.served + 1 >= limit;
        actions_.push_back(AssignRequest{waiting_.front(), *key, last});
        waiting_.pop_front();
    }
}

// A ready worker on the device with the fewest requests running, the first such seat.
std::optional<WorkerKey> Scheduler::choose_worker() const {
    std::map<int, std::size_t> busy;
    for (const auto& [key, worker] : workers_)
        if (worker.request) ++busy[seats_[worker.seat].place.device];
    std::optional<WorkerKey> best;
    std::size_t least = 0;
    for (const Seat& seat : seats_) {
        if (!seat.current || workers_.at(*seat.current).state != WorkerState::ready) continue;
        auto found = busy.find(seat.place.device);
        std::size_t load = found == busy.end() ? 0 : found->second;
        if (best && load >= least) continue;
        best = seat.current;
        least = load;
    }
    return best;
}

void Scheduler::close() {
    closed_ = true;
    for (RequestKey request : std::exchange(waiting_, {}))
        actions_.push_back(RejectRequest{request});
    std::vector<WorkerKey> unused;
    for (const auto& [key, worker] : workers_)
        if (worker.state != WorkerState::busy && worker.state != WorkerState::retired)
            unused.push_back(key);
    for (WorkerKey key : unused)
        retire(key, RetireReason::shutdown);
}

std::vector<Action> Scheduler::take_actions() {
    return std::exchange(actions_, {});
}

Scheduler::Load Scheduler::load() const {
    Load load{0, 0, waiting_.size()};
    for (const auto& [key, worker] : workers_)
        load.running += worker.request.has_value();
    if (closed_) return load;
    for (const Seat& seat : seats_) {
        if (!seat.current) continue;
        WorkerState state = workers_.at(*seat.current).state;
        load.capacity += state != WorkerState::launching;
    }
    return load;
}

std::vector<Scheduler::SeatView> Scheduler::seats() const {
    std::vector<SeatView> views;
    for (const Seat& seat : seats_) {
        SeatView view{seat.place.name, seat.generation, {}, {}, false};
        if (seat.current) {
            const Worker& worker = workers_.at(*seat.current);
            view.generation = worker.generation;
            view.state = worker.state;
            view.request = worker.request;
        }
        view.spare_ready = seat.spare && workers_.at(*seat.spare).state == WorkerState::ready;
        views.push_back(std::move(view));
    }
    return views;
}

}  // namespace kcoral::engine
