// DisconnectWatch: tells when the peer of a connection closes or resets it, without reading.
//
// A poll set of its own, because the loop's would only say that there is something to read, which
// may as well be the next request. Loop thread only.
#pragma once

#include "base/error.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace kcoral::net {

class DisconnectWatch {
  private:
    struct State;

  public:
    // As long as it lives, its callback may come, once.
    class Registration {
      public:
        Registration(std::shared_ptr<State> state, int socket, std::function<void()> callback);
        ~Registration();
        Registration(const Registration&) = delete;

        // Calls back now, if that has not happened.
        void fire();

      private:
        friend State;
        std::shared_ptr<State> state_;
        int socket_;
        std::function<void()> callback_;
    };

    static Result<DisconnectWatch> create(const boost::asio::any_io_executor& loop);
    ~DisconnectWatch();
    DisconnectWatch(DisconnectWatch&&) noexcept = default;

    // The socket must stay open as long as the registration lives.
    std::unique_ptr<Registration> add(int socket, std::function<void()> callback);

  private:
    explicit DisconnectWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace kcoral::net
