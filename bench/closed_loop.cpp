// One coroutine a connection, one list of latencies.
#include "closed_loop.hpp"

#include "net/http_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace kcoral::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_answer_bytes = 64 << 20;

struct Run {
    const Exchange& exchange;
    net::HttpClient& client;
    Clock::time_point begin;  // of what is counted
    Clock::time_point end;
    std::vector<double> latencies_ms;
    std::optional<Error> error;
};

net::ClientRequest make_request(const Exchange& exchange) {
    net::ClientRequest request;
    request.method = exchange.method;
    request.target = exchange.target;
    request.headers = exchange.headers;
    request.body = exchange.body;
    return request;
}

asio::awaitable<Result<void>> exchange_once(Run& run) {
    net::ClientRequest request = make_request(run.exchange);
    auto response = co_await run.client.send(std::move(request));
    if (!response) co_return Failure(std::move(response).error().error);
    auto body = co_await (*response)->read_all(max_answer_bytes);
    CO_TRY(body);
    co_return run.exchange.check((*response)->status(), *body);
}

asio::awaitable<void> keep_asking(Run& run) {
    auto sent = Clock::now();
    while (sent < run.end && !run.error) {
        auto done = co_await exchange_once(run);
        auto now = Clock::now();
        if (!done) {
            run.error = std::move(done).error();
            co_return;
        }
        if (now > run.begin && now <= run.end)
            run.latencies_ms.push_back(
                std::chrono::duration<double, std::milli>(now - sent).count());
        sent = now;
    }
}

double percentile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    auto index = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
    return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

Result<LoadResult> run_closed_loop(const Exchange& exchange, const LoadOptions& options) {
    asio::io_context loop{1};
    net::ClientOptions client_options;
    client_options.base = options.server;
    client_options.max_idle_connections = options.connections;
    TRY_ASSIGN(auto client, net::HttpClient::create(loop.get_executor(), client_options));
    auto begin = Clock::now() + options.warm_up;
    Run run{exchange, *client, begin, begin + options.time, {}, std::nullopt};
    for (unsigned i = 0; i < options.connections; ++i)
        asio::co_spawn(loop, keep_asking(run), asio::detached);
    loop.run();
    if (run.error) return Failure(*std::move(run.error));

    std::ranges::sort(run.latencies_ms);
    LoadResult result;
    result.requests = run.latencies_ms.size();
    result.seconds = std::chrono::duration<double>(options.time).count();
    result.requests_per_second = static_cast<double>(result.requests) / result.seconds;
    result.megabytes_per_second =
        result.requests_per_second * static_cast<double>(exchange.payload_bytes) / 1e6;
    result.p50_ms = percentile(run.latencies_ms, 0.50);
    result.p90_ms = percentile(run.latencies_ms, 0.90);
    result.p99_ms = percentile(run.latencies_ms, 0.99);
    result.max_ms = run.latencies_ms.empty() ? 0 : run.latencies_ms.back();
    return result;
}

}  // namespace kcoral::bench
