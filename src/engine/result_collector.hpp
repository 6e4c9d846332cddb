// ResultCollector: the returns of one request as they come from its worker.
//
// Checks each (the worker ran user code, so nothing about it is believed unread), seals its payload
// so that nobody can change it any more, and hashes its parts on the pool while the program goes
// on. Shared, since hashing may outlive the request. Used on the loop thread only.
#pragma once

#include "base/error.hpp"
#include "engine/returned_result.hpp"
#include "protocol/program.hpp"
#include "worker/messages.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kcoral::engine {

class ResultCollector : public std::enable_shared_from_this<ResultCollector> {
  public:
    // `limit` in bytes of payloads and value trees together.
    static std::shared_ptr<ResultCollector> create(boost::asio::io_context& loop,
                                                   boost::asio::thread_pool& pool,
                                                   std::shared_ptr<const protocol::Program> program,
                                                   std::uint64_t limit);

    // `too_large` past the limit, `protocol` for anything the contract of the channel forbids.
    Result<void> add(worker::Returned returned);

    // Calls back, at once or later, when no hashing is under way.
    void when_settled(std::function<void()> settled);

    // After that: everything collected, in the order of arrival. Fails when hashing did.
    Result<std::vector<ReturnedResult>> take();

  private:
    ResultCollector(boost::asio::io_context& loop, boost::asio::thread_pool& pool,
                    std::shared_ptr<const protocol::Program> program, std::uint64_t limit);
    void hash(std::size_t result);
    void hashed(std::size_t result, Result<std::vector<Digest>> digests);

    boost::asio::io_context& loop_;
    boost::asio::thread_pool& pool_;
    const std::shared_ptr<const protocol::Program> program_;
    const std::uint64_t limit_;
    std::uint64_t bytes_ = 0;
    std::optional<std::uint32_t> last_instruction_;
    std::vector<ReturnedResult> results_;
    std::size_t hashing_ = 0;
    std::optional<Error> error_;
    std::function<void()> settled_;
};

}  // namespace kcoral::engine
