// Receiving programs and blobs.
#include "server/upload.hpp"

#include "blob/incoming_blob.hpp"
#include "protocol/request_reader.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace kcoral::server {
namespace {

namespace asio = boost::asio;

// The blobs of one request while they arrive, each under the name its part claims.
class Arrivals final : public protocol::BlobSink {
  public:
    explicit Arrivals(State& state) : state_(state) {}

    Result<void> blob_begin(const Digest& digest) override {
        blobs_.push_back(
            {digest, blob::IncomingBlob(state_.loop.get_executor(), state_.pool.get_executor())});
        return {};
    }
    Result<void> blob_data(ByteView bytes) override { return blobs_.back().bytes.append(bytes); }
    Result<void> blob_end() override {
        blobs_.back().bytes.end();
        return {};
    }

    struct Arrival {
        Digest claimed;
        blob::IncomingBlob bytes;
    };
    std::vector<Arrival>& blobs() { return blobs_; }

  private:
    State& state_;
    std::vector<Arrival> blobs_;
};

Result<std::string> boundary_of(const net::Request& request) {
    auto types = request.headers().all("Content-Type");
    if (types.size() != 1)
        return failure(ErrorCode::bad_request,
                       fmt::format("expected exactly one Content-Type header, multipart/form-data "
                                   "with a boundary; got {}",
                                   types.size()));
    return protocol::parse_content_type_boundary(types[0]);
}

asio::awaitable<Result<std::vector<blob::BlobPtr>>> finish_blobs(Arrivals& arrivals) {
    std::vector<blob::BlobPtr> finished;
    for (auto& arrival : arrivals.blobs()) {
        auto blob = co_await arrival.bytes.finish();
        CO_TRY(blob);
        if ((*blob)->digest() != arrival.claimed)
            co_return failure(ErrorCode::bad_request,
                              fmt::format("digest mismatch: the bytes of part blob:{} hash to {}",
                                          arrival.claimed.hex(), (*blob)->digest().hex()));
        finished.push_back(std::move(*blob));
    }
    co_return finished;
}

}  // namespace

asio::awaitable<Result<Upload>> receive_upload(net::Request& request, State& state) {
    std::uint64_t expected = request.content_length().value_or(state.options.max_request_bytes);
    // Size comes before everything else: a body that is too large says so in its first read.
    auto chunk = co_await request.read_some();
    CO_TRY(chunk);
    auto permit = co_await state.uploads.acquire(expected);

    auto boundary = boundary_of(request);
    CO_TRY(boundary);
    Arrivals arrivals(state);
    protocol::RequestLimits limits;
    limits.multipart.max_parts = state.options.max_parts;
    protocol::RequestReader reader(*boundary, limits, arrivals);
    while (!chunk->empty()) {
        auto fed = reader.feed(*chunk);
        CO_TRY(fed);
        if (!arrivals.blobs().empty() && arrivals.blobs().back().bytes.lagging())
            co_await arrivals.blobs().back().bytes.caught_up();
        chunk = co_await request.read_some();
        CO_TRY(chunk);
    }
    Upload upload;
    auto program = reader.finish();
    CO_TRY(program);
    upload.program_text = std::move(*program);
    auto blobs = co_await finish_blobs(arrivals);
    CO_TRY(blobs);
    upload.blobs = std::move(*blobs);
    co_return upload;
}

}  // namespace kcoral::server
