// The driver: performs what the scheduler decides, on processes, timers and channels.
#include "engine/engine.hpp"

#include "base/log.hpp"
#include "base/remove_tree.hpp"
#include "base/utf8.hpp"
#include "engine/result_collector.hpp"
#include "engine/worker_process.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <sys/stat.h>

#include <cerrno>
#include <unordered_map>
#include <utility>

namespace kcoral::engine {
namespace {

namespace asio = boost::asio;
using Duration = std::chrono::steady_clock::duration;

// A zygote that dies is started again, later each time while it keeps dying young.
constexpr std::chrono::milliseconds first_zygote_delay{100};
constexpr std::chrono::milliseconds longest_zygote_delay{10'000};

template <typename... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};

OutputText to_text(const CapturedOutput& output) {
    return {to_utf8(output.bytes), output.truncated()};
}

class EngineImplementation;

// A submitted request, from its submission until its outcome is told.
struct Run : Engine::Request, std::enable_shared_from_this<Run> {
    Run(asio::io_context& loop, RequestKey request_key, Submission submitted, Duration wait_limit)
        : key(request_key),
          submission(std::move(submitted)),
          life(std::chrono::steady_clock::now(), wait_limit, submission.budget),
          timer(loop) {}

    void cancel() override;

    RequestKey key;
    Submission submission;
    std::function<void(Outcome)> done;
    RequestLife life;
    asio::steady_timer timer;
    std::optional<WorkerKey> worker;
    std::shared_ptr<ResultCollector> results;
    EngineImplementation* engine = nullptr;  // null once its outcome is told
};

struct Sitting {
    std::shared_ptr<WorkerProcess> process;
    WorkerId id;
    std::shared_ptr<Run> run;  // null while it waits
    bool retired = false;
};

class EngineImplementation final : public Engine {
  public:
    EngineImplementation(asio::io_context& loop, asio::thread_pool& pool, EngineOptions options,
                         Observer& observer)
        : loop_(loop),
          pool_(pool),
          options_(std::move(options)),
          observer_(observer),
          scheduler_(options_.scheduling),
          zygote_timer_(loop) {}

    ~EngineImplementation() override {
        // Their outcomes will not come any more; a handle that lives on must not reach us.
        for (auto& [key, run] : runs_)
            run->engine = nullptr;
    }

    Result<void> start_zygote();

    std::shared_ptr<Engine::Request> submit(Submission submission,
                                            std::function<void(Outcome)> done) override;
    void close(std::function<void()> ended) override;
    void abort() override;
    Scheduler::Load load() const override { return scheduler_.load(); }
    std::vector<Scheduler::SeatView> seats() const override { return scheduler_.seats(); }

    void cancel(Run& run);

  private:
    // The zygote
    void on_zygote_message(worker::FromZygote message);
    void on_zygote_gone(const std::string& how);

    // What the scheduler decides
    void perform();
    void perform(const LaunchWorker& action);
    void perform(const RetireWorker& action);
    void perform(const AssignRequest& action);
    void perform(const RejectRequest& action);
    void perform(const RetryLaunch& action);

    // Workers
    void on_worker_message(WorkerKey key, worker::FromWorker message);
    void on_worker_gone(WorkerKey key, const WorkerEnd& end);
    void on_returned(Sitting& sitting, worker::Returned message);
    void on_finished(WorkerKey key, Sitting& sitting, worker::Finished message);
    void report_lost(Sitting& sitting, const WorkerEnd& end);

    // Requests
    void watch_deadline(const std::shared_ptr<Run>& run);
    void on_deadline(Run& run);
    void end(Run& run, Ending ending, std::string message,
             std::optional<RetireReason> retire = std::nullopt,
             std::optional<ProgramFailure> failure = std::nullopt);
    void tell(const std::shared_ptr<Run>& run, Outcome outcome);
    Result<void> send_program(WorkerProcess& process, const Submission& submission, bool reusable);

    std::string name_of(const WorkerId& id) const {
        return fmt::format("{}#{}", id.seat, id.generation);
    }

    asio::io_context& loop_;
    asio::thread_pool& pool_;
    EngineOptions options_;
    Observer& observer_;
    Scheduler scheduler_;
    std::unique_ptr<Zygote> zygote_;
    asio::steady_timer zygote_timer_;
    std::chrono::milliseconds zygote_delay_{0};
    std::unordered_map<WorkerKey, Sitting> sittings_;
    std::unordered_map<std::string, WorkerKey> launching_;  // by the worker's name
    std::unordered_map<RequestKey, std::shared_ptr<Run>> runs_;
    RequestKey next_request_ = 1;
    std::function<void()> ended_;
    bool performing_ = false;
};

void Run::cancel() {
    if (engine) engine->cancel(*this);
}

// ---- The zygote

Result<void> EngineImplementation::start_zygote() {
    Zygote::Events events;
    events.message = [this](worker::FromZygote message) { on_zygote_message(std::move(message)); };
    events.gone = [this](std::string how) { on_zygote_gone(how); };
    TRY_ASSIGN(zygote_, Zygote::start(loop_, options_.zygote, std::move(events)));
    return {};
}

void EngineImplementation::on_zygote_message(worker::FromZygote message) {
    auto take = [this](const std::string& name) -> std::shared_ptr<WorkerProcess> {
        auto found = launching_.find(name);
        if (found == launching_.end()) return nullptr;
        WorkerKey key = found->second;
        launching_.erase(found);
        auto sitting = sittings_.find(key);
        return sitting == sittings_.end() ? nullptr : sitting->second.process;
    };
    std::visit(Overloaded{
                   [&](worker::ZygoteReady& ready) {
                       zygote_delay_ = {};
                       observer_.zygote_ready(ready);
                       scheduler_.zygote_ready();
                   },
                   [&](worker::Forked& forked) {
                       if (auto process = take(forked.worker)) {
                           auto found = sittings_.begin();
                           for (; found->second.process != process;)
                               ++found;
                           found->second.id.pid = forked.pid;
                           process->forked(forked.pid, std::move(forked.pidfd));
                       }
                   },
                   [&](worker::ForkFailed& failed) {
                       if (auto process = take(failed.worker)) process->fork_failed(failed.message);
                   },
               },
               message);
    perform();
}

void EngineImplementation::on_zygote_gone(const std::string& how) {
    observer_.zygote_lost(how);
    scheduler_.zygote_lost();
    // Not now: we are called by it.
    asio::post(loop_, [zygote = std::move(zygote_)] {});
    // Those it forked die with it and report so themselves; of the others nobody will.
    for (const auto& [name, key] : std::exchange(launching_, {}))
        if (auto sitting = sittings_.find(key); sitting != sittings_.end())
            sitting->second.process->fork_failed(how);
    perform();
    if (scheduler_.closed()) return;
    zygote_delay_ = zygote_delay_.count() == 0 ? first_zygote_delay
                                               : std::min(zygote_delay_ * 2, longest_zygote_delay);
    zygote_timer_.expires_after(zygote_delay_);
    zygote_timer_.async_wait([this](boost::system::error_code error) {
        if (error || scheduler_.closed()) return;
        if (auto started = start_zygote(); !started) on_zygote_gone(started.error().message);
    });
}

// ---- What the scheduler decides

void EngineImplementation::perform() {
    if (performing_) return;  // an action of ours led here: the loop below goes on
    performing_ = true;
    for (auto actions = scheduler_.take_actions(); !actions.empty();
         actions = scheduler_.take_actions())
        for (const Action& action : actions)
            std::visit([this](const auto& single) { perform(single); }, action);
    performing_ = false;
    if (ended_ && scheduler_.closed() && scheduler_.idle() && runs_.empty()) {
        zygote_.reset();
        asio::post(loop_, std::exchange(ended_, nullptr));
    }
}

void EngineImplementation::perform(const LaunchWorker& action) {
    Sitting sitting;
    sitting.id = {scheduler_.place_of(action.seat).name, action.generation, 0};
    std::string name = name_of(sitting.id);
    std::string folder = fmt::format("{}/{}", options_.workspace_dir, action.worker);

    WorkerProcess::Events events;
    WorkerKey key = action.worker;
    events.message = [this, key](worker::FromWorker message) {
        on_worker_message(key, std::move(message));
        perform();
    };
    events.gone = [this, key](const WorkerEnd& end) {
        on_worker_gone(key, end);
        perform();
    };
    worker::Fork request;
    request.workspace = fmt::format("{}/{}", options_.zygote_workspace_dir, action.worker);
    auto launched = [&]() -> Result<void> {
        if (::mkdir(folder.c_str(), 0700) != 0) return errno_failure("making " + folder);
        TRY_ASSIGN(sitting.process,
                   WorkerProcess::prepare(loop_, name, folder, request, std::move(events)));
        if (!zygote_) return failure(ErrorCode::closed, "the zygote is gone");
        return zygote_->fork(request);
    }();
    if (!launched) {
        observer_.worker_failed(sitting.id, launched.error().message);
        scheduler_.worker_gone(key);
        return;
    }
    launching_[name] = key;
    sittings_.emplace(key, std::move(sitting));
}

void EngineImplementation::perform(const RetireWorker& action) {
    auto found = sittings_.find(action.worker);
    if (found == sittings_.end()) return;
    Sitting& sitting = found->second;
    sitting.retired = true;
    observer_.worker_retired(sitting.id, action.reason);
    // A worker whose program is over has nothing to put in order: its tree just goes. One that is
    // stopped in the middle of its work may want to.
    bool interrupted =
        action.reason == RetireReason::timeout || action.reason == RetireReason::cancelled;
    sitting.process->terminate(interrupted ? options_.termination_grace : Duration::zero());
}

void EngineImplementation::perform(const AssignRequest& action) {
    auto run = runs_.at(action.request);
    Sitting& sitting = sittings_.at(action.worker);
    run->worker = action.worker;
    run->life.assigned(std::chrono::steady_clock::now());
    run->results =
        ResultCollector::create(loop_, pool_, run->submission.program, options_.max_response_bytes);
    sitting.run = run;
    observer_.request_routed(run->submission.request_id, sitting.id);
    sitting.process->standard_output().begin(run->submission.output_limit_bytes);
    sitting.process->standard_error().begin(run->submission.output_limit_bytes);
    watch_deadline(run);
    if (auto sent = send_program(*sitting.process, run->submission, !action.last); !sent) {
        // A worker that died this moment is reported as such soon; anything else is our fault.
        if (sent.error().code == ErrorCode::closed) return;
        end(*run, Ending::engine_fault,
            "the program could not be sent to its worker: " + sent.error().message,
            RetireReason::crashed);
    }
}

void EngineImplementation::perform(const RejectRequest& action) {
    end(*runs_.at(action.request), Ending::shutting_down, "the server is shutting down");
}

void EngineImplementation::perform(const RetryLaunch& action) {
    auto timer = std::make_shared<asio::steady_timer>(loop_, action.delay);
    timer->async_wait([this, timer, seat = action.seat](boost::system::error_code) {
        scheduler_.retry_launch(seat);
        perform();
    });
}

Result<void> EngineImplementation::send_program(WorkerProcess& process,
                                                const Submission& submission, bool reusable) {
    worker::Execute execute;
    execute.reusable = reusable;
    execute.request_id = submission.request_id;
    execute.program = submission.program_text;
    execute.host_tensors = options_.host_tensors;
    execute.max_result_bytes = options_.max_response_bytes;
    execute.termination_grace_seconds =
        std::chrono::duration<double>(options_.termination_grace).count();
    TRY(pack_blobs(submission.supplies, execute));
    return process.execute(execute);
}

// ---- Workers

void EngineImplementation::on_worker_message(WorkerKey key, worker::FromWorker message) {
    auto found = sittings_.find(key);
    if (found == sittings_.end()) return;
    Sitting& sitting = found->second;
    std::visit(
        Overloaded{
            [&](worker::WorkerReady&) {
                if (sitting.retired || sitting.run) return;
                observer_.worker_ready(sitting.id);
                scheduler_.worker_ready(key);
            },
            [&](worker::Started& started) {
                if (sitting.run) sitting.run->life.instruction_started(started.instruction);
            },
            [&](worker::Returned& returned) { on_returned(sitting, std::move(returned)); },
            [&](worker::Finished& finished) { on_finished(key, sitting, std::move(finished)); },
        },
        message);
}

void EngineImplementation::on_returned(Sitting& sitting, worker::Returned message) {
    auto run = sitting.run;
    if (!run) return;
    auto added = run->results->add(std::move(message));
    if (added) return;
    if (added.error().code == ErrorCode::too_large) {
        end(*run, Ending::response_too_large, added.error().message, RetireReason::cancelled);
        return;
    }
    std::size_t instruction = run->life.instruction().value_or(0);
    end(*run, Ending::failed, "", RetireReason::crashed,
        ProgramFailure{protocol::ErrorKind::runtime,
                       "the worker broke the rules of its channel: " + added.error().message,
                       instruction, ""});
}

void EngineImplementation::on_finished(WorkerKey, Sitting& sitting, worker::Finished message) {
    auto run = sitting.run;
    if (!run) return;
    std::optional<RetireReason> retire;
    if (!message.retire.empty()) retire = RetireReason::sandbox_cleanup;
    if (!message.error) {
        end(*run, Ending::completed, "", retire);
        return;
    }
    worker::Finished::Failure& failure = *message.error;
    if (failure.kind == protocol::ErrorKind::response_too_large) {
        end(*run, Ending::response_too_large, std::move(failure.message), retire);
        return;
    }
    std::size_t last = run->submission.program->instructions.size() - 1;
    end(*run, Ending::failed, "", retire,
        ProgramFailure{failure.kind, std::move(failure.message),
                       std::min<std::size_t>(failure.instruction, last),
                       std::move(failure.traceback)});
}

void EngineImplementation::on_worker_gone(WorkerKey key, const WorkerEnd& end_of_worker) {
    auto found = sittings_.find(key);
    if (found == sittings_.end()) return;
    Sitting& sitting = found->second;
    if (sitting.run) {
        report_lost(sitting, end_of_worker);
        perform();  // it retires, while its name is still known
    } else if (!sitting.retired) {
        observer_.worker_failed(sitting.id, end_of_worker.description);
    }
    launching_.erase(name_of(sitting.id));
    std::string folder = sitting.process->workspace();
    // Its callbacks are running: it goes when they have returned.
    asio::post(loop_, [process = std::move(sitting.process)] {});
    sittings_.erase(found);
    asio::post(pool_, [folder] {
        if (auto removed = remove_tree(folder); !removed)
            log::error("a workspace could not be removed: {}", removed.error().message);
    });
    scheduler_.worker_gone(key);
}

// The worker died under a program: of what the program did, unless that had not begun or the whole
// zygote is gone.
void EngineImplementation::report_lost(Sitting& sitting, const WorkerEnd& worker_end) {
    auto run = sitting.run;
    std::size_t instruction = run->life.instruction().value_or(0);
    ProgramFailure failure{protocol::ErrorKind::engine, {}, instruction, ""};
    if (!zygote_ || !zygote_->connected()) {
        failure.message =
            "the process that workers are forked from died; the request can be sent again";
    } else if (!run->life.instruction()) {
        failure.message =
            worker_end.description + " before the program began; the request can be sent again";
    } else {
        failure.kind = protocol::ErrorKind::runtime;
        failure.message = worker_end.description + " while it ran this instruction";
    }
    end(*run, Ending::failed, "", RetireReason::crashed, std::move(failure));
}

// ---- Requests

std::shared_ptr<Engine::Request> EngineImplementation::submit(Submission submission,
                                                              std::function<void(Outcome)> done) {
    auto run = std::make_shared<Run>(loop_, next_request_++, std::move(submission),
                                     options_.worker_wait_timeout);
    run->done = std::move(done);
    run->engine = this;
    runs_[run->key] = run;
    if (scheduler_.load().waiting >= options_.max_queued_requests && !scheduler_.closed()) {
        end(*run, Ending::busy,
            fmt::format(
                "{} requests are waiting already, the most this server lets wait; try again "
                "later",
                options_.max_queued_requests));
        return run;
    }
    watch_deadline(run);
    scheduler_.submit(run->key);
    perform();
    return run;
}

void EngineImplementation::cancel(Run& run) {
    end(run, Ending::cancelled, "the client went away", RetireReason::cancelled);
    perform();
}

void EngineImplementation::watch_deadline(const std::shared_ptr<Run>& run) {
    run->timer.expires_at(run->life.deadline());
    run->timer.async_wait([this, weak = std::weak_ptr(run)](boost::system::error_code error) {
        auto strong = weak.lock();
        // A timer that fired just as it was set anew is not the present state's.
        if (error || !strong || !strong->engine) return;
        if (std::chrono::steady_clock::now() < strong->life.deadline()) return;
        on_deadline(*strong);
        perform();
    });
}

void EngineImplementation::on_deadline(Run& run) {
    double seconds = std::chrono::duration<double>(run.submission.budget).count();
    if (run.life.state() == RequestLife::State::waiting)
        end(run, Ending::busy, "no worker became free in time; try again later");
    else
        end(run, Ending::timeout,
            fmt::format("the program used up its execution budget of {} seconds", seconds),
            RetireReason::timeout);
}

// The one place where a request ends: for whatever reason, the first one counts.
void EngineImplementation::end(Run& run, Ending ending, std::string message,
                               std::optional<RetireReason> retire,
                               std::optional<ProgramFailure> failure) {
    auto now = std::chrono::steady_clock::now();
    bool was_waiting = run.life.state() == RequestLife::State::waiting;
    if (!run.life.end(ending, now)) return;
    run.timer.cancel();
    auto self = run.shared_from_this();

    Outcome outcome;
    outcome.ending = ending;
    outcome.message = std::move(message);
    outcome.timings = run.life.timings(now);
    outcome.failure = std::move(failure);
    if (auto index = run.life.instruction()) outcome.instruction = *index;
    if (was_waiting) {
        scheduler_.withdraw(run.key);
    } else if (auto found = sittings_.find(*run.worker); found != sittings_.end()) {
        Sitting& sitting = found->second;
        outcome.standard_output = to_text(sitting.process->standard_output().take());
        outcome.standard_error = to_text(sitting.process->standard_error().take());
        sitting.run.reset();
        scheduler_.request_ended(*run.worker, retire);
    }
    if (!run.results) return tell(self, std::move(outcome));
    // Results are whole once they are hashed.
    auto results = run.results;
    auto shared = std::make_shared<Outcome>(std::move(outcome));
    results->when_settled([this, self, shared, results] {
        auto taken = results->take();
        if (taken) {
            shared->results = std::move(*taken);
        } else if (shared->ending == Ending::completed || shared->ending == Ending::failed) {
            shared->ending = Ending::failed;
            shared->failure = ProgramFailure{protocol::ErrorKind::runtime, taken.error().message,
                                             shared->instruction.value_or(0), ""};
        }
        tell(self, std::move(*shared));
    });
}

void EngineImplementation::tell(const std::shared_ptr<Run>& run, Outcome outcome) {
    run->engine = nullptr;
    asio::post(loop_, [this, run, shared = std::make_shared<Outcome>(std::move(outcome))] {
        auto done = std::exchange(run->done, nullptr);
        runs_.erase(run->key);
        run->submission.supplies.clear();
        done(std::move(*shared));
        perform();
    });
}

void EngineImplementation::close(std::function<void()> ended) {
    ended_ = std::move(ended);
    zygote_timer_.cancel();
    scheduler_.close();
    perform();
}

void EngineImplementation::abort() {
    std::vector<std::shared_ptr<Run>> running;
    for (const auto& [key, run] : runs_)
        running.push_back(run);
    for (const auto& run : running)
        end(*run, Ending::shutting_down, "the server is shutting down", RetireReason::shutdown);
    for (auto& [key, sitting] : sittings_)
        sitting.process->terminate(Duration::zero());
    perform();
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(asio::io_context& loop, asio::thread_pool& pool,
                                              EngineOptions options, Observer& observer) {
    auto engine = std::make_unique<EngineImplementation>(loop, pool, std::move(options), observer);
    TRY(engine->start_zygote());
    return engine;
}

}  // namespace kcoral::engine
