// The checks of a request in the contract's order, then its run.
#include "server/execute.hpp"

#include "engine/blob_packing.hpp"
#include "protocol/options.hpp"
#include "protocol/program.hpp"
#include "protocol/program_blobs.hpp"
#include "server/replies.hpp"
#include "server/upload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <unordered_map>
#include <utility>

namespace kcoral::server {
namespace {

namespace asio = boost::asio;
using protocol::RequiredBlob;

// The uploads of one program: what came with it, what the caches had, what is missing.
struct Supplies {
    std::vector<engine::Supply> found;
    std::vector<Digest> missing;  // in the order of first reference
    std::unordered_map<Digest, std::uint64_t> sizes;
};

Result<protocol::Program> check_program(const State& state, const Upload& upload,
                                        std::vector<RequiredBlob>& required) {
    protocol::ProgramLimits limits;
    limits.max_instructions = state.options.max_instructions;
    limits.json.depth = state.options.max_json_depth;
    TRY_ASSIGN(auto program, protocol::parse_program(upload.program_text, limits));
    required = protocol::required_blobs(program);
    std::vector<Digest> supplied;
    for (const blob::BlobPtr& blob : upload.blobs)
        supplied.push_back(blob->digest());
    TRY(protocol::check_supplied(required, supplied));
    return program;
}

// What a request brings enters the caches, also when the request is refused later: the client need
// not send it again.
asio::awaitable<Supplies> gather(State& state, const std::vector<RequiredBlob>& required,
                                 std::vector<blob::BlobPtr> supplied) {
    std::unordered_map<Digest, blob::BlobPtr> brought;
    for (blob::BlobPtr& blob : supplied) {
        Digest digest = blob->digest();
        brought.emplace(digest, std::move(blob));
    }
    Supplies supplies;
    for (const RequiredBlob& blob : required) {
        auto found = brought.find(blob.digest);
        blob::BlobPtr bytes = found == brought.end() ? nullptr : found->second;
        std::optional<engine::Supply> supply;
        if (bytes && blob.file && state.disk_cache.enabled())
            asio::co_spawn(state.loop, state.disk_cache.store(bytes), asio::detached);
        if (blob.memory) {
            auto pin =
                bytes ? std::optional(state.cache.insert(bytes)) : state.cache.find(blob.digest);
            if (pin) {
                supplies.sizes[blob.digest] = (*pin)->size();
                supply.emplace(engine::Supply{blob.digest, std::move(*pin)});
            }
        } else if (bytes) {
            supplies.sizes[blob.digest] = bytes->size();
            supply.emplace(engine::Supply{blob.digest, bytes});
        }
        bool complete = supply.has_value();
        if (blob.file && !bytes) {
            // A hit in memory says nothing about the disk: a file must be there.
            complete = false;
            if (state.disk_cache.enabled()) {
                if (auto file = co_await state.disk_cache.find(blob.digest)) {
                    complete = !blob.memory || supply.has_value();
                    if (!supply) {
                        auto shared = std::make_shared<const blob::CachedFile>(std::move(*file));
                        supply.emplace(engine::Supply{blob.digest, std::move(shared)});
                    }
                }
            }
        }
        if (complete)
            supplies.found.push_back(std::move(*supply));
        else
            supplies.missing.push_back(blob.digest);
    }
    co_return supplies;
}

// Runs the submission and waits for its outcome; a client that goes away cancels it.
asio::awaitable<engine::Outcome> run(State& state, net::Request& request,
                                     engine::Submission submission) {
    struct Waiter {
        asio::steady_timer told;
        std::optional<engine::Outcome> outcome;
    };
    auto waiter = std::make_shared<Waiter>(
        Waiter{asio::steady_timer(state.loop, asio::steady_timer::time_point::max()), {}});
    auto done = [waiter](engine::Outcome outcome) {
        waiter->outcome = std::move(outcome);
        waiter->told.cancel();
    };
    auto job = state.engine->submit(std::move(submission), std::move(done));
    if (state.options.on_disconnect == OnDisconnect::cancel)
        request.on_disconnect([job] { job->cancel(); });
    while (!waiter->outcome) {
        co_await waiter->told.async_wait(asio::as_tuple(asio::use_awaitable));
        if (!waiter->outcome) job->cancel();  // the wait itself was cancelled
    }
    co_return std::move(*waiter->outcome);
}

}  // namespace

asio::awaitable<net::Response> execute(State& state, net::Request& request) {
    std::string request_id = choose_request_id(request.headers());
    if (request.has_query()) {
        Error no_query(ErrorCode::bad_request, "/execute takes no query");
        co_return refusal_reply(request_id, no_query);
    }
    auto upload = co_await receive_upload(request, state);
    if (!upload) co_return refusal_reply(request_id, upload.error());

    std::vector<RequiredBlob> required;
    auto program = check_program(state, *upload, required);
    if (!program) co_return refusal_reply(request_id, program.error());

    Supplies supplies = co_await gather(state, required, std::move(upload->blobs));
    auto size_of = [&supplies](const Digest& digest) -> std::optional<std::uint64_t> {
        auto found = supplies.sizes.find(digest);
        return found == supplies.sizes.end() ? std::nullopt : std::optional(found->second);
    };
    auto sizes = protocol::check_tensor_sizes(*program, size_of);
    if (!sizes) co_return refusal_reply(request_id, sizes.error());
    if (!supplies.missing.empty()) {
        protocol::CacheMiss miss{request_id, std::move(supplies.missing)};
        co_return cache_miss_reply(miss);
    }
    auto capacity = protocol::check_gpu_capacity(program->options, 0);
    if (!capacity) co_return refusal_reply(request_id, capacity.error());

    protocol::OptionLimits limits{
        state.options.default_timeout_seconds, state.options.max_timeout_seconds,
        state.options.output_limit_bytes, state.options.max_output_limit_bytes};
    protocol::ResolvedOptions options = protocol::resolve_options(program->options, limits);
    engine::Submission submission;
    submission.request_id = request_id;
    submission.program_text = std::move(upload->program_text);
    submission.program = std::make_shared<const protocol::Program>(std::move(*program));
    submission.supplies = std::move(supplies.found);
    submission.budget = options.timeout;
    submission.output_limit_bytes = options.output_limit_bytes;
    auto shared_program = submission.program;
    engine::Outcome outcome = co_await run(state, request, std::move(submission));
    co_return outcome_reply(request_id, *shared_program, std::move(outcome));
}

}  // namespace kcoral::server
