// BlockingClient: the HTTP client on a loop of its own, driven call by call from a test.
#pragma once

#include "net/http_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace kcoral::net {

class BlockingClient {
  public:
    explicit BlockingClient(const std::string& url, ClientOptions options = {}) {
        auto base = Url::parse(url);
        if (!base) throw std::runtime_error(base.error().message);
        options.base = *base;
        auto client = HttpClient::create(loop_.get_executor(), std::move(options));
        if (!client) throw std::runtime_error(client.error().message);
        client_ = std::move(*client);
    }

    template <typename T>
    T run(boost::asio::awaitable<T> work) {
        auto result = boost::asio::co_spawn(loop_, std::move(work), boost::asio::use_future);
        loop_.restart();
        auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            if (std::chrono::steady_clock::now() > patience ||
                loop_.run_one_for(std::chrono::seconds(20)) == 0)
                throw std::runtime_error("the client never comes back");
        return result.get();
    }

    ClientResult send(ClientRequest request) { return run(client_->send(std::move(request))); }
    ClientResult get(std::string target) {
        ClientRequest request;
        request.target = std::move(target);
        return send(std::move(request));
    }
    ClientResult post(std::string target, Pieces body) {
        ClientRequest request;
        request.method = "POST";
        request.target = std::move(target);
        request.body = std::move(body);
        return send(std::move(request));
    }
    Result<std::string> read_all(const ClientResult& response, std::size_t limit = 1 << 30) {
        return run((*response)->read_all(limit));
    }

    boost::asio::io_context& loop() { return loop_; }
    HttpClient& client() { return *client_; }

  private:
    boost::asio::io_context loop_{1};
    std::unique_ptr<HttpClient> client_;
};

}  // namespace kcoral::net
