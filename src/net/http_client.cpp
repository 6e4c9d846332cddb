// The HTTP client: kept connections, sending requests, reading the heads of answers.
#include "net/http_client.hpp"

#include "net/client_pool.hpp"
#include "net/connector.hpp"
#include "net/head_parser.hpp"
#include "net/message_writer.hpp"
#include "net/socket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kcoral::net {

namespace asio = boost::asio;

namespace {

std::unexpected<ClientError> client_error(Stage stage, Error error) {
    return std::unexpected(ClientError{stage, std::move(error)});
}

bool is_safe_to_repeat(const std::string& method) {
    return method == "GET" || method == "HEAD";
}

Result<std::string> make_request_head(const ClientOptions& options, const ClientRequest& request) {
    bool good_target = request.target.starts_with('/') && fits_in_line(request.target) &&
                       !request.target.contains(' ');
    if (request.method.empty() ||
        !std::ranges::all_of(request.method, [](char c) { return c >= 'A' && c <= 'Z'; }))
        return failure(ErrorCode::bad_request, "the method is not made of capital letters");
    if (!good_target)
        return failure(ErrorCode::bad_request,
                       "the request target must begin with / and hold no spaces");
    std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", request.method,
                                   options.base.prefix, request.target, options.base.authority());
    if (!append_headers(head, options.headers) || !append_headers(head, request.headers))
        return failure(ErrorCode::bad_request, "a header has characters that it must not have");
    std::uint64_t length = size_of(request.body);
    if (length > 0 || !is_safe_to_repeat(request.method))
        head += fmt::format("Content-Length: {}\r\n", length);
    head += "\r\n";
    return head;
}

// Has something come that ends the sending of a request? An interim answer does not.
bool answer_has_begun(Connection& connection, std::size_t max_head_bytes) {
    if (connection.input().empty()) {
        auto step = connection.read(max_head_bytes + 1);
        if (!step || step->kind == Step::Kind::end) return true;
    }
    std::string_view text = as_text(connection.input().bytes());
    constexpr std::size_t status_position = std::string_view("HTTP/1.1 ").size();
    return text.size() > status_position && text[status_position] != '1';
}

// One request on one connection.
struct Exchange {
    Connection& connection;
    const ClientOptions& options;
    const ClientRequest& request;
    std::uint64_t sent = 0;
    bool answered = false;  // a byte of an answer has come
    bool sent_all = false;
};

asio::awaitable<Result<void>> send_request(Exchange& exchange, std::string_view head) {
    SendOptions options{
        .progress = {exchange.options.progress_timeout, exchange.options.min_progress_bytes},
        .enough =
            [&exchange] {
                return answer_has_begun(exchange.connection, exchange.options.max_head_bytes);
            },
        .sent = &exchange.sent};
    auto result = co_await send(exchange.connection, head, exchange.request.body, options);
    exchange.sent_all = exchange.sent == head.size() + size_of(exchange.request.body);
    // The server may have answered before it closed, without reading everything.
    bool broken = !result && (result.error().code == ErrorCode::closed ||
                              result.error().code == ErrorCode::protocol);
    if (broken && exchange.sent > 0 &&
        answer_has_begun(exchange.connection, exchange.options.max_head_bytes) &&
        !exchange.connection.input().empty())
        co_return Result<void>();
    co_return result;
}

asio::awaitable<Result<ResponseHead>> read_head(Exchange& exchange) {
    Connection& connection = exchange.connection;
    InputBuffer& input = connection.input();
    std::size_t most = exchange.options.max_head_bytes;
    SteadyTime deadline = SteadyTime::max();
    if (auto timeout = exchange.request.response_timeout)
        deadline = std::chrono::steady_clock::now() + *timeout;
    std::size_t searched = 0;
    while (true) {
        if (!input.empty()) exchange.answered = true;
        std::string_view text = as_text(input.bytes());
        auto end = find_head_end(text, searched);
        if (end && *end <= most) {
            HeadLimits limits{.max_line_bytes = most, .max_header_count = most};
            auto head = parse_response_head(text.substr(0, *end), limits);
            input.consume(*end);
            searched = 0;
            if (!head) co_return head;
            if (head->status == 101)
                co_return failure(ErrorCode::protocol, "the server switches protocols unasked");
            if (head->status >= 200) co_return head;
            continue;
        }
        if (end || text.size() >= most)
            co_return failure(ErrorCode::protocol, "the head of the answer is longer than " +
                                                       std::to_string(most) + " bytes");
        searched = text.size();
        auto step = connection.read(most + 1);
        if (!step) co_return Failure(std::move(step).error());
        if (step->kind == Step::Kind::done) continue;
        if (step->kind == Step::Kind::end)
            co_return failure(ErrorCode::closed,
                              text.empty() ? "the server closed the connection without an answer"
                                           : "the connection ended within the head of the answer");
        auto ready = co_await connection.wait(step->kind, deadline);
        if (!ready) co_return Failure(std::move(ready).error());
    }
}

class Client final : public HttpClient {
  public:
    Client(asio::any_io_executor loop, ClientOptions options, std::optional<TlsContext> tls)
        : loop_(std::move(loop)),
          tls_(std::move(tls)),
          pool_(std::make_shared<ClientPool>(std::move(options))) {}

    asio::awaitable<ClientResult> send(ClientRequest request) override {
        auto head = make_request_head(pool_->options(), request);
        if (!head) co_return client_error(Stage::unsent, std::move(head).error());
        while (true) {
            auto connection = pool_->take();
            bool kept = connection != nullptr;
            if (!kept) {
                SteadyTime deadline =
                    std::chrono::steady_clock::now() + pool_->options().connect_timeout;
                auto made = co_await connect(loop_, pool_->options().base, tls_, deadline);
                if (!made) co_return client_error(Stage::connect, std::move(made).error());
                connection = std::move(*made);
            }
            Exchange exchange{*connection, pool_->options(), request};
            auto answer = co_await run(exchange, *head);
            if (answer)
                co_return make_client_response(pool_, std::move(connection), std::move(*answer),
                                               request.method == "HEAD", exchange.sent_all);
            // A kept connection may have been closed by the server at this very moment.
            bool stale = kept && !exchange.answered &&
                         (answer.error().code == ErrorCode::closed ||
                          answer.error().code == ErrorCode::protocol);
            if (stale && (exchange.sent == 0 || is_safe_to_repeat(request.method))) continue;
            co_return client_error(exchange.sent == 0 ? Stage::unsent : Stage::response,
                                   std::move(answer).error());
        }
    }

  private:
    static asio::awaitable<Result<ResponseHead>> run(Exchange& exchange, std::string_view head) {
        auto sent = co_await send_request(exchange, head);
        if (!sent) co_return Failure(std::move(sent).error());
        co_return co_await read_head(exchange);
    }

    const asio::any_io_executor loop_;
    const std::optional<TlsContext> tls_;
    const std::shared_ptr<ClientPool> pool_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(asio::any_io_executor loop,
                                                       ClientOptions options) {
    ignore_broken_pipes();
    std::optional<TlsContext> tls;
    if (options.base.tls) {
        TRY_ASSIGN(tls, TlsContext::for_client(options.tls));
    }
    return std::make_unique<Client>(std::move(loop), std::move(options), std::move(tls));
}

}  // namespace kcoral::net
