// Keeping connections, and reading the bodies of answers.
#include "net/client_pool.hpp"

#include "net/body_reader.hpp"
#include "net/message_writer.hpp"

#include <string>

namespace kcoral::net {

namespace asio = boost::asio;

namespace {

BodyReader::Framing framing_of(const ResponseHead& head, bool answers_head_request) {
    using enum BodyReader::Framing;
    if (answers_head_request || is_bodiless(head.status)) return none;
    if (head.chunked) return chunked;
    return head.content_length ? length : until_close;
}

class PooledResponse final : public ClientResponse {
  public:
    PooledResponse(std::shared_ptr<ClientPool> pool, std::unique_ptr<Connection> connection,
                   ResponseHead head, BodyReader::Framing framing, bool keep)
        : pool_(std::move(pool)),
          connection_(std::move(connection)),
          head_(std::move(head)),
          keep_(keep && framing != BodyReader::Framing::until_close),
          body_(*connection_, framing, head_.content_length.value_or(0),
                {UINT64_MAX,
                 pool_->options().body_buffer_bytes,
                 {pool_->options().progress_timeout, pool_->options().min_progress_bytes}}) {}

    ~PooledResponse() override { give_back(); }

    unsigned status() const override { return head_.status; }
    const Headers& headers() const override { return head_.headers; }
    std::optional<std::uint64_t> content_length() const override { return head_.content_length; }

    asio::awaitable<Result<ByteView>> read_some() override {
        if (!connection_) co_return ByteView();
        auto bytes = co_await body_.read_some();
        if (!bytes && bytes.error().code == ErrorCode::bad_request) {
            Error error = std::move(bytes).error();
            error.code = ErrorCode::protocol;
            co_return Failure(std::move(error));
        }
        if (bytes && bytes->empty()) give_back();
        co_return bytes;
    }

    asio::awaitable<Result<std::string>> read_all(std::size_t limit) override {
        std::string text;
        while (true) {
            auto bytes = co_await read_some();
            if (!bytes) co_return Failure(std::move(bytes).error());
            if (bytes->empty()) co_return text;
            if (bytes->size() > limit - text.size())
                co_return failure(ErrorCode::too_large, "the answer has more than the " +
                                                            std::to_string(limit) +
                                                            " bytes that are wanted");
            text += as_text(*bytes);
        }
    }

  private:
    void give_back() {
        if (!connection_) return;
        if (body_.finished()) {
            body_.release();
            if (keep_ && connection_->input().empty()) pool_->put(std::move(connection_));
        }
        connection_.reset();
    }

    const std::shared_ptr<ClientPool> pool_;
    std::unique_ptr<Connection> connection_;  // null once it was given back
    const ResponseHead head_;
    const bool keep_;
    BodyReader body_;
};

}  // namespace

std::unique_ptr<Connection> ClientPool::take() {
    SteadyTime now = std::chrono::steady_clock::now();
    while (!idle_.empty()) {
        Idle last = std::move(idle_.back());
        idle_.pop_back();
        if (now - last.since >= options_.max_idle_time) {
            idle_.clear();  // the others are older
            break;
        }
        // A server has nothing to say now; the end of the connection, or any byte, spoils it.
        auto step = last.connection->read(4 << 10);
        if (step && step->kind == Step::Kind::want_read) return std::move(last.connection);
    }
    return nullptr;
}

void ClientPool::put(std::unique_ptr<Connection> connection) {
    if (options_.max_idle_connections == 0) return;
    if (idle_.size() >= options_.max_idle_connections) idle_.erase(idle_.begin());
    connection->rest();
    connection->input().shrink();
    idle_.push_back({std::move(connection), std::chrono::steady_clock::now()});
}

std::unique_ptr<ClientResponse> make_client_response(std::shared_ptr<ClientPool> pool,
                                                     std::unique_ptr<Connection> connection,
                                                     ResponseHead head, bool answers_head_request,
                                                     bool request_complete) {
    bool keep = head.keep_alive && request_complete;
    connection->rest();
    auto framing = framing_of(head, answers_head_request);
    return std::make_unique<PooledResponse>(std::move(pool), std::move(connection), std::move(head),
                                            framing, keep);
}

}  // namespace kcoral::net
