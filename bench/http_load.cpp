// bench_http_load: what a running server answers to N connections that ask as fast as they are
// answered.
//
//   bench_http_load --url http://127.0.0.1:8000 --request program --connections 1,8,64
//
// Prints one row for each number of connections, and with --json one JSON object a line instead.
#include "closed_loop.hpp"
#include "protocol/json_writer.hpp"
#include "requests.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

namespace kcoral::bench {
namespace {

struct Options {
    std::string url = "http://127.0.0.1:8000";
    std::string request = "health";
    std::vector<unsigned> connections{1};
    double seconds = 2;
    double warm_up_seconds = 0.2;
    std::uint64_t upload_bytes = 64 << 20;
    bool json = false;
};

Result<Exchange> make_exchange(const Options& options) {
    if (options.request == "program") return program_exchange();
    if (options.request == "upload") return upload_exchange(options.upload_bytes);
    return health_exchange();
}

std::string json_line(const Options& options, unsigned connections, const LoadResult& result) {
    protocol::JsonWriter json;
    json.begin_object();
    json.key("request").string(options.request);
    json.key("connections").integer(connections);
    json.key("requests").integer(result.requests);
    json.key("seconds").number(result.seconds);
    json.key("requests_per_second").number(result.requests_per_second);
    json.key("megabytes_per_second").number(result.megabytes_per_second);
    json.key("p50_ms").number(result.p50_ms);
    json.key("p90_ms").number(result.p90_ms);
    json.key("p99_ms").number(result.p99_ms);
    json.key("max_ms").number(result.max_ms);
    json.end_object();
    return std::move(json).take();
}

void print_row(const Options& options, unsigned connections, const LoadResult& result) {
    fmt::print("{:<8} {:>11} {:>10.1f} {:>9.1f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}\n",
               options.request, connections, result.requests_per_second,
               result.megabytes_per_second, result.p50_ms, result.p90_ms, result.p99_ms,
               result.max_ms);
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<void> run(const Options& options) {
    LoadOptions load;
    TRY_ASSIGN(load.server, net::Url::parse(options.url));
    load.time = milliseconds(options.seconds);
    load.warm_up = milliseconds(options.warm_up_seconds);
    TRY_ASSIGN(Exchange exchange, make_exchange(options));
    if (!options.json)
        fmt::print("{:<8} {:>11} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "request", "connections",
                   "requests/s", "MB/s", "p50 ms", "p90 ms", "p99 ms", "max ms");
    for (unsigned connections : options.connections) {
        load.connections = connections;
        TRY_ASSIGN(LoadResult result, run_closed_loop(exchange, load));
        if (options.json)
            fmt::print("{}\n", json_line(options, connections, result));
        else
            print_row(options, connections, result);
        std::fflush(stdout);
    }
    return {};
}

}  // namespace
}  // namespace kcoral::bench

int main(int argc, char** argv) {
    kcoral::bench::Options options;
    CLI::App app("Load on a running server from a closed loop of connections.", "bench_http_load");
    app.option_defaults()->always_capture_default();
    app.add_option("--url", options.url, "The server");
    app.add_option("--request", options.request, "What is sent")
        ->check(CLI::IsMember({"health", "program", "upload"}));
    app.add_option("--connections", options.connections, "Connections at a time, a run for each")
        ->delimiter(',')
        ->check(CLI::Range(1u, 100'000u));
    app.add_option("--seconds", options.seconds, "Length of each run")
        ->check(CLI::Range(0.01, 3600.0));
    app.add_option("--warm-up-seconds", options.warm_up_seconds, "Sent before it, not counted")
        ->check(CLI::Range(0.0, 3600.0));
    app.add_option("--upload-bytes", options.upload_bytes, "Size of the blob of an upload");
    app.add_flag("--json", options.json, "One JSON object a line instead of a table");
    CLI11_PARSE(app, argc, argv);
    if (auto done = kcoral::bench::run(options); !done) {
        fmt::print(stderr, "bench_http_load: {}\n", done.error().message);
        return 1;
    }
    return 0;
}
