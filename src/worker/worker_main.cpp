// Receiving programs, running them, and saying how they ended.
#include "worker/worker_main.hpp"

#include "base/clock.hpp"
#include "base/utf8.hpp"
#include "sandbox/process_tree.hpp"
#include "worker/descriptors.hpp"
#include "worker/executor.hpp"
#include "worker/messages.hpp"
#include "worker/module_state.hpp"
#include "worker/process_state.hpp"
#include "worker/python.hpp"
#include "worker/surroundings.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

class Worker {
  public:
    Worker(Channel channel, Workspace workspace, ModuleState& modules)
        : channel_(std::move(channel)), workspace_(std::move(workspace)), modules_(modules) {}

    Result<void> serve() {
        while (true) {
            TRY(send(channel_, FromWorker(WorkerReady{})));
            TRY_ASSIGN(auto packet, receive());
            if (!packet) return {};
            TRY_ASSIGN(Execute request, decode_execute(std::move(*packet)));
            TRY_ASSIGN(bool goes_on, run(std::move(request)));
            if (!goes_on) return {};
        }
    }

  private:
    Result<std::optional<Packet>> receive() {
        nb::gil_scoped_release released;
        return channel_.receive();
    }

    // Whether the worker can take another program.
    Result<bool> run(Execute request) {
        if (request.reusable && !process_) TRY(take_baseline());
        Finished finished;
        auto executor = std::make_unique<Executor>(channel_, workspace_, request);
        TRY_ASSIGN(finished.error, executor->run());
        end_helpers();
        end_leftovers(request, executor->last_instruction(), finished);
        // The last program's objects end with the process: nobody waits for their finalisers.
        if (request.reusable)
            executor.reset();
        else
            static_cast<void>(executor.release());
        if (request.reusable && finished.retire.empty()) restore(finished);
        flush();
        TRY(send(channel_, FromWorker(finished)));
        if (!request.reusable || !finished.retire.empty()) return false;
        TRY(workspace_.clear());
        TRY(come_back(workspace_));
        return true;
    }

    // What a reused worker goes back to.
    Result<void> take_baseline() {
        TRY_ASSIGN(process_, ProcessState::take());
        modules_.settle();
        return {};
    }

    // Processes that libraries keep for themselves and end at exit are no left-overs of a program.
    void end_helpers() {
        nb::object tracker = imported_module("multiprocessing.resource_tracker");
        if (tracker.is_valid()) call_or_clear(get_attribute(tracker, "_resource_tracker"), "_stop");
        nb::object fork_server = imported_module("multiprocessing.forkserver");
        if (fork_server.is_valid())
            call_or_clear(get_attribute(fork_server, "_forkserver"), "_stop");
        nb::object compilers = imported_module("torch._inductor.async_compile");
        if (compilers.is_valid()) call_or_clear(compilers, "shutdown_compile_workers");
    }

    void end_leftovers(const Execute& request, std::uint32_t instruction, Finished& finished) {
        nb::gil_scoped_release released;
        auto tree = sandbox::ProcessTree::of_this_worker();
        auto grace = from_seconds(request.termination_grace_seconds);
        auto left = tree.wait_until_gone(std::chrono::steady_clock::now() + grace);
        if (!left) {
            finished.retire = "sandbox_cleanup: " + left.error().message;
            return;
        }
        if (left->empty()) return;
        auto killed = tree.kill(std::chrono::steady_clock::now() + std::chrono::seconds(5));
        if (!killed) finished.retire = "sandbox_cleanup: " + killed.error().message;
        if (finished.error) return;
        finished.error = {protocol::ErrorKind::runtime,
                          "background processes were left running and have been killed: " +
                              describe(*left) + "; wait for every process before returning",
                          instruction, ""};
    }

    static std::string describe(const std::vector<sandbox::ProcessEntry>& processes) {
        std::string text;
        for (std::size_t i = 0; i < processes.size() && i < 8; ++i)
            text += fmt::format("{}{} ({})", i ? ", " : "", to_utf8(processes[i].name),
                                processes[i].pid);
        if (processes.size() > 8) text += fmt::format(" and {} more", processes.size() - 8);
        return text;
    }

    void restore(Finished& finished) {
        std::optional<std::string> why;
        try {
            why = modules_.restore();
            PyGC_Collect();
        } catch (nb::python_error& error) {
            why = summary_of(error.value());
        }
        if (!why) why = process_->restore();
        if (why) finished.retire = "sandbox_cleanup: " + *why;
    }

    // What was printed reaches the pipes before the server hears that the program is over.
    void flush() {
        for (const char* name : {"stdout", "stderr"}) {
            PyObject* stream = PySys_GetObject(name);
            if (stream) call_or_clear(nb::borrow(stream), "flush");
        }
        std::fflush(nullptr);
    }

    Channel channel_;
    Workspace workspace_;
    ModuleState& modules_;
    std::optional<ProcessState> process_;  // once a program came after which another may follow
};

// A worker is never destroyed: the process ends with it, and letting go of what it inherited would
// copy every page that holds a reference count.
Result<Worker*> prepare(Fd channel, ModuleState& modules) {
    TRY_ASSIGN(channel, keep_to_worker(std::move(channel)));
    TRY_ASSIGN(auto workspace, Workspace::open(std::filesystem::current_path()));
    TRY(settle_in(workspace));
    reseed_generators();
    return new Worker(Channel(std::move(channel)), std::move(workspace), modules);
}

}  // namespace

int run_worker(Fd channel, ModuleState& modules) {
    auto fail = [](std::string_view why) {
        fmt::print(stderr, "kcoral worker: {}\n", why);
        std::fflush(nullptr);
        return 1;
    };
    try {
        auto worker = prepare(std::move(channel), modules);
        if (!worker) return fail(worker.error().message);
        if (auto served = (*worker)->serve(); !served) return fail(served.error().message);
        return 0;
    } catch (const std::exception& error) {
        return fail(error.what());
    }
}

}  // namespace kcoral::worker
