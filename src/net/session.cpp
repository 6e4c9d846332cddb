// The life of one connection: read a head, call the handler, send its answer, again.
#include "net/session.hpp"

#include "base/log.hpp"
#include "net/message_writer.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace kcoral::net {

namespace asio = boost::asio;

namespace {

std::unexpected<HeadFault> hang_up() {
    return std::unexpected(HeadFault{0, {}});
}

// RFC 9112: empty lines before a request are skipped.
bool skip_empty_lines(InputBuffer& input) {
    std::string_view text = as_text(input.bytes());
    std::size_t count = 0;
    while (text.substr(count).starts_with("\r\n"))
        count += 2;
    input.consume(count);
    return count > 0;
}

// A client that speaks something else (TLS, say) will never send the end of a head: don't wait.
bool can_begin_request(InputBuffer& input) {
    char first = as_text(input.bytes()).front();
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z') || first == '\r';
}

SteadyTime after(std::chrono::milliseconds duration) {
    return std::chrono::steady_clock::now() + duration;
}

}  // namespace

void Session::start(std::shared_ptr<ServerCore> core, Fd socket, Peer peer, Admission admission) {
    auto loop = core->loop;
    auto transport =
        core->tls ? core->tls->accept(socket.get()) : make_plain_transport(socket.get());
    std::shared_ptr<Session> session(new Session(std::move(core), std::move(socket),
                                                 std::move(transport), std::move(peer), admission));
    auto ended = [session](const std::exception_ptr& error) {
        try {
            if (error) std::rethrow_exception(error);
        } catch (const boost::system::system_error& cut_off) {
            if (cut_off.code() != asio::error::operation_aborted)
                log::error("a session ended: {}", cut_off.what());
        } catch (const std::exception& why) {
            log::error("a session ended: {}", why.what());
        }
    };
    asio::co_spawn(loop, run(session),
                   asio::bind_cancellation_slot(session->cancel_.slot(), std::move(ended)));
}

Session::Session(std::shared_ptr<ServerCore> core, Fd socket, std::unique_ptr<Transport> transport,
                 Peer peer, Admission admission)
    : core_(std::move(core)),
      peer_(std::move(peer)),
      admission_(admission),
      connection_(core_->loop, std::move(socket), std::move(transport)) {
    core_->sessions.insert(this);
    if (admission_ == Admission::refused) ++core_->refusals;
}

Session::~Session() {
    core_->sessions.erase(this);
    if (admission_ == Admission::refused) --core_->refusals;
    core_->session_ended();
}

void Session::close_if_idle() {
    if (idle_) connection_.abort();
}

void Session::cut_off() {
    if (disconnect_) disconnect_->fire();
    connection_.abort();
    cancel_.emit(asio::cancellation_type::terminal);
}

ProgressLimit Session::progress_limit() const {
    return {core_->options.progress_timeout, core_->options.min_progress_bytes};
}

Response Session::problem(unsigned status, std::string message, const RequestHead* head) const {
    Problem problem{status, std::move(message), head};
    try {
        return core_->error_body(problem);
    } catch (const std::exception& error) {
        log::error("the error body for status {} failed: {}", status, error.what());
        return make_response(status, "text/plain", problem.message + "\n");
    }
}

asio::awaitable<void> Session::run(std::shared_ptr<Session> self) {
    auto ready = co_await self->connection_.handshake(after(self->core_->options.head_timeout));
    if (!ready) co_return;
    if (self->admission_ == Admission::refused) co_return co_await self->refuse();
    while (co_await self->serve_one() == Next::go_on) {
    }
}

asio::awaitable<void> Session::refuse() {
    idle_ = false;
    HeadFault fault{503, "the server has as many connections as it takes; try again later"};
    co_await answer_fault(std::move(fault), nullptr);
}

asio::awaitable<Session::Next> Session::serve_one() {
    auto head = co_await read_head();
    if (!head) {
        if (head.error().status != 0) co_await answer_fault(std::move(head).error(), nullptr);
        co_return Next::close;
    }
    head->peer = peer_;

    auto framing = head->chunked          ? BodyReader::Framing::chunked
                   : head->content_length ? BodyReader::Framing::length
                                          : BodyReader::Framing::none;
    BodyReader::Limits limits{core_->options.max_body_bytes, core_->options.body_buffer_bytes,
                              progress_limit()};
    body_.emplace(connection_, framing, head->content_length.value_or(0), limits);
    continue_owed_ = false;
    if (auto expect = head->headers.find("Expect"); expect && !head->http_1_0) {
        if (!same_ignoring_case(*expect, "100-continue")) {
            HeadFault fault{417, "the only expectation known here is 100-continue"};
            co_await answer_fault(std::move(fault), &*head);
            co_return Next::close;
        }
        continue_owed_ = head->has_body();
    }

    Response response = co_await call_handler(*head);
    disconnect_.reset();
    bool keep = can_be_kept(*head, response);
    auto sent = co_await send_response(&*head, response, keep);
    if (!sent) {
        connection_.give_up();
        co_return Next::close;
    }
    if (keep) keep = co_await drain();
    if (!keep) {
        // Whoever asked for the close will send nothing more that a close could collide with.
        bool clean = body_->finished() && connection_.input().empty() && !head->keep_alive;
        if (clean)
            connection_.transport().finish();
        else
            co_await connection_.linger(after(core_->options.linger_timeout));
        co_return Next::close;
    }
    body_.reset();
    connection_.input().shrink();
    co_return Next::go_on;
}

asio::awaitable<std::expected<RequestHead, HeadFault>> Session::read_head() {
    const ServerOptions& options = core_->options;
    InputBuffer& input = connection_.input();
    SteadyTime deadline = after(options.idle_timeout);
    std::size_t searched = 0;
    while (true) {
        if (skip_empty_lines(input)) searched = 0;
        if (!input.empty()) {
            if (searched == 0) deadline = after(options.head_timeout);
            idle_ = false;
            if (!can_begin_request(input))
                co_return std::unexpected(HeadFault{400, "this is no HTTP request"});
            std::string_view text = as_text(input.bytes());
            auto end = find_head_end(text, searched);
            if (end && *end <= options.max_head_bytes) {
                HeadLimits limits{options.max_line_bytes, options.max_header_count};
                auto head = parse_request_head(text.substr(0, *end), limits);
                input.consume(*end);
                co_return head;
            }
            if (end || input.size() >= options.max_head_bytes) {
                bool in_first_line = !text.substr(0, options.max_head_bytes).contains("\r\n");
                co_return std::unexpected(HeadFault{in_first_line ? 414u : 431u,
                                                    "the head of the request is longer than " +
                                                        std::to_string(options.max_head_bytes) +
                                                        " bytes"});
            }
            searched = text.size();
        } else {
            idle_ = true;
            if (core_->stopping) co_return hang_up();
        }

        std::size_t capacity = input.size() < (2 << 10) ? 4 << 10 : options.max_head_bytes + 1;
        if (connection_.owes_a_turn()) co_await connection_.give_turn();
        auto step = connection_.read(capacity);
        if (!step || step->kind == Step::Kind::end) co_return hang_up();
        if (step->kind == Step::Kind::done) continue;
        auto ready = co_await connection_.wait(step->kind, deadline);
        if (ready) continue;
        if (idle_ || ready.error().code != ErrorCode::timeout) co_return hang_up();
        co_return std::unexpected(HeadFault{408, "the head of the request did not arrive within " +
                                                     std::to_string(options.head_timeout.count()) +
                                                     " ms"});
    }
}

asio::awaitable<void> Session::answer_fault(HeadFault fault, const RequestHead* head) {
    Response response = problem(fault.status, std::move(fault.message), head);
    auto sent = co_await send_response(head, response, false);
    if (sent) co_await connection_.linger(after(core_->options.linger_timeout));
}

asio::awaitable<Response> Session::call_handler(const RequestHead& head) {
    Request request(head, *this);
    std::string failure;
    try {
        co_return co_await core_->handler(request);
    } catch (const std::exception& error) {
        failure = error.what();
    } catch (...) {
        failure = "unknown exception";
    }
    if (!connection_.aborted())
        log::error("the handler of {} {} failed: {}", head.method, head.path, failure);
    co_return problem(500, "the server failed while it answered this request", &head);
}

bool Session::can_be_kept(const RequestHead& head, const Response& response) const {
    if (!head.keep_alive || response.close || core_->stopping || body_->failed()) return false;
    if (response.stream && head.http_1_0) return false;  // the close is its end
    if (body_->finished()) return true;
    // A client that waits for `100 Continue` may send its body now, or not.
    return !continue_owed_ && body_->remaining() <= core_->options.max_drain_bytes;
}

asio::awaitable<Result<void>> Session::send_response(const RequestHead* head, Response& response,
                                                     bool keep) {
    auto persistence = keep ? Persistence::keep : Persistence::close;
    bool http_1_0 = head && head->http_1_0;
    auto text = make_response_head(response, persistence, http_1_0);
    if (!text) {
        log::error("an answer with status {} has a malformed header", response.status);
        response = problem(500, "the server's answer has a malformed header", head);
        text = make_response_head(response, persistence, http_1_0);
        if (!text) co_return failure(ErrorCode::internal, "the error body has a malformed header");
    }
    if (is_bodiless(response.status) || (head && head->method == "HEAD")) {
        response.body.clear();
        response.stream.reset();
    }
    SendOptions options{.progress = progress_limit(), .enough = nullptr, .sent = nullptr};
    if (!response.stream) co_return co_await send(connection_, *text, response.body, options);

    co_return co_await send_stream(connection_, *text, response.body, *response.stream, !http_1_0,
                                   options);
}

asio::awaitable<bool> Session::drain() {
    std::uint64_t dropped = 0;
    while (!body_->finished()) {
        auto bytes = co_await body_->read_some();
        if (!bytes) co_return false;
        dropped += bytes->size();
        if (dropped > core_->options.max_drain_bytes) co_return false;
    }
    body_->release();
    co_return true;
}

asio::awaitable<Result<ByteView>> Session::read_some() {
    return continue_owed_ ? read_after_continue() : body_->read_some();
}

asio::awaitable<Result<ByteView>> Session::read_after_continue() {
    continue_owed_ = !body_->fits();
    // A client that did not wait has sent its body already and needs no invitation.
    if (!continue_owed_ && connection_.input().empty()) {
        SendOptions options{.progress = progress_limit(), .enough = nullptr, .sent = nullptr};
        Pieces none;
        auto sent = co_await send(connection_, "HTTP/1.1 100 Continue\r\n\r\n", none, options);
        if (!sent) co_return Failure(std::move(sent).error());
    }
    co_return co_await body_->read_some();
}

void Session::on_disconnect(std::function<void()> callback) {
    disconnect_.reset();
    disconnect_ = core_->watch.add(connection_.descriptor(), std::move(callback));
}

}  // namespace kcoral::net
