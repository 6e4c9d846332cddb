// UploadBudget: how many bytes of uploads may be on their way into memory at once.
//
// A request takes a permit for its whole body before it reads it, and waits while the budget is
// used up, its bytes staying in the sender's socket. First come, first served: a large request is
// not overtaken by small ones. One larger than the whole budget gets through alone. Taking all at
// once is what keeps two half-read requests from waiting for each other: ask for the
// Content-Length, or the most a body may have when it is unknown, and shrink() afterwards.
// Loop thread only. Permits may outlive the budget.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kcoral::blob {

class UploadBudget {
  private:
    struct State;

  public:
    // A share of the budget; gone when it goes.
    class Permit {
      public:
        Permit() = default;
        Permit(Permit&& other) noexcept;
        Permit& operator=(Permit&& other) noexcept;
        ~Permit();

        std::uint64_t bytes() const { return bytes_; }
        // Gives back all but `bytes`; no effect when it has fewer.
        void shrink(std::uint64_t bytes);

      private:
        friend UploadBudget;
        Permit(std::shared_ptr<State> state, std::uint64_t bytes);
        std::shared_ptr<State> state_;
        std::uint64_t bytes_ = 0;
    };

    explicit UploadBudget(std::uint64_t capacity_bytes);
    ~UploadBudget();
    UploadBudget(const UploadBudget&) = delete;
    UploadBudget& operator=(const UploadBudget&) = delete;

    // Waits for its turn. Throws operation_aborted when cancelled, like every Asio wait; a
    // cancelled request leaves the queue and holds nothing.
    boost::asio::awaitable<Permit> acquire(std::uint64_t bytes);

    std::uint64_t capacity() const;
    std::uint64_t in_use() const;
    std::size_t waiting() const;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace kcoral::blob
