// Engine: runs programs on workers.
//
// Takes checked programs with their blobs, queues them for a seat, runs them one request a worker
// at a time, and gives each an Outcome. A request is an object of its own, not a property of a
// connection: whoever submits it gets a handle to cancel it. Knows no HTTP. Used on the loop thread
// only.
#pragma once

#include "base/error.hpp"
#include "engine/blob_packing.hpp"
#include "engine/events.hpp"
#include "engine/request_life.hpp"
#include "engine/returned_result.hpp"
#include "engine/scheduler.hpp"
#include "engine/zygote.hpp"
#include "protocol/error_kind.hpp"
#include "protocol/program.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kcoral::engine {

struct EngineOptions {
    SchedulerOptions scheduling;
    ZygoteCommand zygote;
    std::string workspace_dir;         // each worker gets a folder of its own below it
    std::string zygote_workspace_dir;  // the same folder, as the zygote sees it
    std::chrono::steady_clock::duration worker_wait_timeout{};
    std::chrono::steady_clock::duration termination_grace{};
    std::uint64_t max_response_bytes = 0;
    std::size_t max_queued_requests = 0;
    bool host_tensors = false;
};

struct Submission {
    std::string request_id;
    std::string program_text;
    std::shared_ptr<const protocol::Program> program;  // the same, parsed
    std::vector<Supply> supplies;                      // one for each digest the program names
    std::chrono::steady_clock::duration budget{};
    std::uint64_t output_limit_bytes = 0;
};

struct OutputText {
    std::string text;  // UTF-8, ill-formed bytes replaced
    bool truncated = false;
};

struct ProgramFailure {
    protocol::ErrorKind kind{};
    std::string message;
    std::size_t instruction = 0;  // index into the program
    std::string traceback;
};

struct Outcome {
    Ending ending{};
    std::string message;  // why, for every ending but `completed` and `failed`
    Timings timings;
    // Kept for completed and failed programs; for the others what there was, for the log.
    OutputText standard_output;
    OutputText standard_error;
    std::vector<ReturnedResult> results;
    std::optional<ProgramFailure> failure;   // of a failed program
    std::optional<std::size_t> instruction;  // the last one that began
};

class Engine {
  public:
    // A submitted request. Dropping the handle changes nothing.
    class Request {
      public:
        virtual ~Request() = default;
        // Nobody waits any more. Its outcome, `cancelled`, still comes unless it came before.
        virtual void cancel() = 0;
    };

    // Starts the zygote. `observer` must outlive the engine.
    static Result<std::unique_ptr<Engine>> start(boost::asio::io_context& loop,
                                                 boost::asio::thread_pool& pool,
                                                 EngineOptions options, Observer& observer);
    virtual ~Engine() = default;

    // `done` is called once, later, never from within submit().
    virtual std::shared_ptr<Request> submit(Submission submission,
                                            std::function<void(Outcome)> done) = 0;

    // Takes no more requests: those that wait end as `shutting_down`, the running ones go on.
    // `ended` is called when all workers are gone.
    virtual void close(std::function<void()> ended) = 0;
    // After close(): ends what still runs, now.
    virtual void abort() = 0;

    virtual Scheduler::Load load() const = 0;
    virtual std::vector<Scheduler::SeatView> seats() const = 0;
};

}  // namespace kcoral::engine
