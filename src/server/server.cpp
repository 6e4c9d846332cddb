// Putting a server together, and taking it apart in order.
#include "server/server.hpp"

#include "base/log.hpp"
#include "net/http_server.hpp"
#include "net/routes.hpp"
#include "server/console_observer.hpp"
#include "server/execute.hpp"
#include "server/health.hpp"
#include "server/replies.hpp"
#include "server/state.hpp"
#include "server/worker_python.hpp"
#include "server/worker_sandbox.hpp"
#include "server/workspace_root.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>

#include <sys/resource.h>

namespace kcoral::server {
namespace {

namespace asio = boost::asio;

// How long connections may take to receive their last answers once the engine is at rest.
constexpr std::chrono::seconds last_answers{10};

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(from_seconds(seconds));
}

// Connections, workers and large blobs cost descriptors: take all the system gives us.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

engine::EngineOptions engine_options(const ServerOptions& options, const WorkerSandbox& sandbox,
                                     const WorkspaceRoot& workspaces) {
    engine::EngineOptions made;
    for (unsigned i = 0; i < options.num_workers; ++i)
        made.scheduling.seats.push_back({fmt::format("cpu/w{}", i), 0});
    made.scheduling.max_requests_per_worker = options.max_requests_per_worker;
    made.zygote = sandbox.zygote;
    made.workspace_dir = workspaces.path();
    made.zygote_workspace_dir = sandbox.zygote_workspaces;
    made.worker_wait_timeout = from_seconds(options.worker_wait_timeout_seconds);
    made.termination_grace = from_seconds(options.worker_termination_grace_seconds);
    made.max_response_bytes = options.max_response_bytes;
    made.max_queued_requests = options.max_queued_requests;
    made.host_tensors = options.host_tensors;
    return made;
}

net::ServerOptions http_options(const ServerOptions& options) {
    net::ServerOptions made;
    made.address = options.host;
    made.port = options.port;
    made.max_connections = options.max_connections;
    made.max_head_bytes = options.max_header_bytes;
    made.max_body_bytes = options.max_request_bytes;
    made.head_timeout = milliseconds(options.header_timeout_seconds);
    made.idle_timeout = milliseconds(options.idle_timeout_seconds);
    made.progress_timeout = milliseconds(options.progress_timeout_seconds);
    return made;
}

std::vector<net::Route> routes(State& state) {
    return {
        {"POST", "/execute", [&state](net::Request& request) { return execute(state, request); }},
        {"GET", "/health",
         [&state](net::Request& request) -> asio::awaitable<net::Response> {
             co_return health(state, request);
         }},
        {"GET", "/internal/worker-status",
         [&state](net::Request& request) -> asio::awaitable<net::Response> {
             co_return worker_status(state, request);
         }},
    };
}

// The way down: first signal drains, second one ends at once.
class Shutdown {
  public:
    Shutdown(State& state, net::HttpServer& http)
        : state_(state), http_(http), signals_(state.loop, SIGINT, SIGTERM) {
        wait();
    }

  private:
    void wait() {
        signals_.async_wait([this](boost::system::error_code error, int) {
            if (error) return;
            wait();
            if (std::exchange(draining_, true)) {
                log::info("shutdown_forced a second signal came");
                state_.engine->abort();
                return;
            }
            auto load = state_.engine->load();
            log::info("shutdown_started running={} waiting={}", load.running, load.waiting);
            state_.engine->close([this] { asio::co_spawn(state_.loop, finish(), asio::detached); });
        });
    }

    asio::awaitable<void> finish() {
        co_await http_.stop(std::chrono::steady_clock::now() + last_answers);
        log::info("shutdown_complete");
        signals_.cancel();
        state_.loop.stop();
    }

    State& state_;
    net::HttpServer& http_;
    asio::signal_set signals_;
    bool draining_ = false;
};

Result<ServerOptions> resolve_device(ServerOptions options) {
    if (options.device == Device::automatic) {
        options.device = Device::cpu;
        options.host_tensors = true;
    }
    if (options.device == Device::gpu)
        return failure(ErrorCode::unavailable,
                       "no usable NVIDIA GPU: this version serves CPUs only; start with --device "
                       "cpu, or --device auto for tensors in host memory");
    return options;
}

}  // namespace

Result<void> serve(const ServerOptions& requested) {
    raise_descriptor_limit();
    TRY_ASSIGN(const ServerOptions options, resolve_device(requested));
    TRY_ASSIGN(std::string python, find_worker_python(options.python, options.program));
    TRY_ASSIGN(WorkspaceRoot workspaces, WorkspaceRoot::create(options.workspace_dir));

    TRY_ASSIGN(WorkerSandbox sandbox, prepare_sandbox(options, python, workspaces.path()));

    State state(options);
    state.sandboxed = sandbox.active;
    ConsoleObserver observer(state);
    net::Handler handler = net::route(routes(state), problem_reply);
    TRY_ASSIGN(auto http, net::HttpServer::create(state.loop, http_options(options),
                                                  std::move(handler), problem_reply));
    log::info("server_started version={} pid={} python={}", KCORAL_VERSION, ::getpid(), python);
    if (sandbox.refused)
        log::warning(
            "sandbox_disabled programs run without a sandbox, with all that this user may do "
            "and see: {}. {}",
            sandbox.refused->cause, sandbox.refused->remedy);
    TRY_ASSIGN(state.engine,
               engine::Engine::start(state.loop, state.pool,
                                     engine_options(options, sandbox, workspaces), observer));
    http->start();
    log::info("listening on {}", http->url());
    Shutdown shutdown(state, *http);
    state.loop.run();
    state.pool.join();
    log::info("server_stopped");
    return {};
}

}  // namespace kcoral::server
