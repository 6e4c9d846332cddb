// TestServer: an HTTP server on a loop thread of its own and a free port, with a few handlers that
// most tests need.
#pragma once

#include "net/http_server.hpp"
#include "net/routes.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace kcoral::net {

// "<status> <message>", with the path when there is a head.
Response plain_error_body(const Problem& problem);

// POST /echo, /count (how many bytes came, or the error), /ignore (answers unread); GET /hello,
// /throw; all of them added to the routes of a TestServer.
std::vector<Route> common_routes();

class TestServer {
  public:
    explicit TestServer(ServerOptions options = {}, std::vector<Route> routes = {},
                        ErrorBody error_body = plain_error_body);
    ~TestServer();  // stops it

    std::uint16_t port() const { return port_; }
    HttpServer& server() { return *server_; }
    boost::asio::io_context& loop() { return loop_; }

    // Runs a function on the loop thread and returns what it gave.
    template <typename Function>
    auto on_loop(Function function) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        boost::asio::post(loop_, [&task] { task(); });
        return result.get();
    }

    std::future<void> stop(std::chrono::milliseconds patience);

  private:
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<HttpServer> server_;
    std::uint16_t port_ = 0;
    std::thread thread_;
    bool stopped_ = false;
};

}  // namespace kcoral::net
