// Session: one connection to the HTTP server, from its start to its close, request by request.
#pragma once

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "net/body_reader.hpp"
#include "net/connection.hpp"
#include "net/disconnect_watch.hpp"
#include "net/head_parser.hpp"
#include "net/request.hpp"
#include "net/server_core.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <expected>
#include <memory>
#include <optional>

namespace kcoral::net {

// Serve the connection, or only tell it that there are too many?
enum class Admission { admitted, refused };

// Owned by its own coroutine; listed in the core as long as that runs.
class Session final : public RequestBody {
  public:
    static void start(std::shared_ptr<ServerCore> core, Fd socket, Peer peer, Admission admission);
    ~Session() override;
    Session(const Session&) = delete;

    // Closes the connection if no request is being served.
    void close_if_idle();
    // Ends the request being served too, as far as its handler lets that happen.
    void cut_off();

    // RequestBody, for the handler.
    boost::asio::awaitable<Result<ByteView>> read_some() override;
    void on_disconnect(std::function<void()> callback) override;

  private:
    enum class Next { go_on, close };

    Session(std::shared_ptr<ServerCore> core, Fd socket, std::unique_ptr<Transport> transport,
            Peer peer, Admission admission);

    static boost::asio::awaitable<void> run(std::shared_ptr<Session> self);
    boost::asio::awaitable<void> refuse();
    boost::asio::awaitable<Next> serve_one();
    // A fault of status 0: hang up without an answer.
    boost::asio::awaitable<std::expected<RequestHead, HeadFault>> read_head();
    boost::asio::awaitable<void> answer_fault(HeadFault fault, const RequestHead* head);
    boost::asio::awaitable<Response> call_handler(const RequestHead& head);
    boost::asio::awaitable<Result<void>> send_response(const RequestHead* head, Response& response,
                                                       bool keep);
    boost::asio::awaitable<Result<ByteView>> read_after_continue();
    // Reads and drops what is left of the body, if it is little.
    boost::asio::awaitable<bool> drain();

    Response problem(unsigned status, std::string message, const RequestHead* head) const;
    bool can_be_kept(const RequestHead& head, const Response& response) const;
    ProgressLimit progress_limit() const;

    const std::shared_ptr<ServerCore> core_;
    const Peer peer_;
    const Admission admission_;
    Connection connection_;
    boost::asio::cancellation_signal cancel_;
    std::optional<BodyReader> body_;
    std::unique_ptr<DisconnectWatch::Registration> disconnect_;
    bool idle_ = true;
    bool continue_owed_ = false;  // the client waits for `100 Continue` before it sends the body
};

}  // namespace kcoral::net
