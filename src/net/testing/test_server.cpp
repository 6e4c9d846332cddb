// A server in a thread, and handlers for tests.
#include "net/testing/test_server.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace kcoral::net {

namespace asio = boost::asio;

namespace {

asio::awaitable<Response> hello(Request& request) {
    co_return make_response(200, "text/plain", "hello " + request.head().target);
}

asio::awaitable<Response> echo(Request& request) {
    std::string text;
    while (true) {
        auto bytes = co_await request.read_some();
        if (!bytes)
            co_return make_response(status_of_body_error(bytes.error()), "text/plain",
                                    bytes.error().message);
        if (bytes->empty()) co_return make_response(200, "text/plain", std::move(text));
        text += as_text(*bytes);
    }
}

asio::awaitable<Response> count(Request& request) {
    std::uint64_t total = 0;
    while (true) {
        auto bytes = co_await request.read_some();
        if (!bytes)
            co_return make_response(
                status_of_body_error(bytes.error()), "text/plain",
                fmt::format("{} after {}", to_string(bytes.error().code), total));
        if (bytes->empty()) co_return make_response(200, "text/plain", std::to_string(total));
        total += bytes->size();
    }
}

asio::awaitable<Response> ignore(Request&) {
    co_return make_response(200, "text/plain", "ignored");
}

asio::awaitable<Response> fail(Request&) {
    throw std::runtime_error("a handler's own trouble");
    co_return Response();
}

}  // namespace

Response plain_error_body(const Problem& problem) {
    std::string text = fmt::format("{} {}", problem.status, problem.message);
    if (problem.head) text += " at " + problem.head->path;
    return make_response(problem.status, "text/plain", std::move(text));
}

std::vector<Route> common_routes() {
    return {{"GET", "/hello", hello},
            {"POST", "/echo", echo},
            {"POST", "/count", count},
            {"POST", "/ignore", ignore},
            {"GET", "/throw", fail}};
}

TestServer::TestServer(ServerOptions options, std::vector<Route> routes, ErrorBody error_body)
    : work_(loop_.get_executor()) {
    for (Route& common : common_routes())
        routes.push_back(std::move(common));
    auto server = HttpServer::create(loop_, std::move(options),
                                     route(std::move(routes), error_body), error_body);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    port_ = server_->port();
    server_->start();
    thread_ = std::thread([this] { loop_.run(); });
}

TestServer::~TestServer() {
    if (!stopped_) stop(std::chrono::seconds(5)).get();
    on_loop([this] { server_.reset(); });
    work_.reset();
    loop_.stop();
    thread_.join();
}

std::future<void> TestServer::stop(std::chrono::milliseconds patience) {
    stopped_ = true;
    auto deadline = std::chrono::steady_clock::now() + patience;
    return asio::co_spawn(loop_, server_->stop(deadline), asio::use_future);
}

}  // namespace kcoral::net
