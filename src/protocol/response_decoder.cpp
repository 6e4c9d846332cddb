// Reading the documents strictly.
#include "protocol/json_fields.hpp"
#include "protocol/quote.hpp"
#include "protocol/response.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace kcoral::protocol {
namespace {

constexpr ErrorCode code = ErrorCode::protocol;
// Of one document, less than a tenth of what its largest allowed text could hold.
constexpr std::size_t max_values = std::size_t{1} << 26;

Result<Json> parse(std::string_view json_text) {
    auto json = parse_json(json_text, {.depth = max_value_json_depth, .values = max_values});
    if (!json) return failure(code, "response: " + json.error().message);
    return json;
}

Result<std::optional<std::string>> take_string_or_null(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(Json value, fields.any(name));
    if (value.is_null()) return std::nullopt;
    if (!value.string())
        return unexpected_kind(fields.path().child(name), code, "a string or null", value);
    return std::move(*value.string());
}

Result<std::uint64_t> take_count(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(Integer integer, fields.integer(name));
    auto count = integer.to_uint64();
    if (!count) return fields.fail(name, "expected an integer from 0 to 2^64 - 1");
    return *count;
}

Result<double> take_milliseconds(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(double milliseconds, fields.number(name));
    // Written so that NaN, which no JSON holds, would fail, too; an integer may be infinite here.
    if (!(milliseconds >= 0 && milliseconds < 1e300))
        return fields.fail(name, "expected a number of milliseconds, at least 0");
    return milliseconds;
}

Result<ErrorKind> take_kind(JsonFields& fields) {
    TRY_ASSIGN(std::string text, fields.string("kind"));
    auto kind = error_kind_from(text);
    if (!kind) return fields.fail("kind", "unknown kind " + quote(text));
    return *kind;
}

Result<GpuGrant> take_gpus(JsonFields& fields) {
    TRY_ASSIGN(JsonArray ids, fields.array("gpu_ids"));
    GpuGrant grant;
    for (const Json& id : ids) {
        auto number = id.integer() ? id.integer()->to_int64() : std::nullopt;
        if (!number) return fields.fail("gpu_ids", "expected integers");
        grant.gpu_ids.push_back(*number);
    }
    TRY_ASSIGN(std::uint64_t count, take_count(fields, "gpu_count"));
    if (count != grant.gpu_ids.size())
        return fields.fail("gpu_count", "expected as many as there are gpu_ids");
    grant.gpu_count = static_cast<int>(count);
    return grant;
}

Result<InstructionError> decode_error(Json json, const JsonPath& path) {
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), path, code));
    InstructionError error;
    TRY_ASSIGN(error.kind, take_kind(fields));
    TRY_ASSIGN(error.message, fields.string("message"));
    TRY_ASSIGN(error.instruction_index, take_count(fields, "instruction_index"));
    TRY_ASSIGN(error.instruction_op, fields.string("instruction_op"));
    TRY_ASSIGN(error.instruction_id, take_string_or_null(fields, "instruction_id"));
    TRY_ASSIGN(std::optional<std::string> traceback, take_string_or_null(fields, "traceback"));
    error.traceback = std::move(traceback).value_or("");
    if (error.kind == ErrorKind::gpu_access) {
        GpuAccess& access = error.gpu_access.emplace();
        TRY_ASSIGN(access.cuda_call, fields.string("cuda_call"));
        TRY_ASSIGN(access.location, fields.string("location"));
        TRY_ASSIGN(access.interfered_request_id,
                   take_string_or_null(fields, "interfered_request_id"));
    }
    TRY(fields.done());
    return error;
}

Result<std::vector<ValueMember>> decode_results(JsonObject object) {
    std::vector<ValueMember> results;
    results.reserve(object.size());
    std::uint32_t next_part = 0;
    for (JsonMember& member : object) {
        TRY_ASSIGN(Value value, decode_value(std::move(member.value), "results." + member.name,
                                             Digests::present, next_part));
        results.push_back({std::move(member.name), std::move(value)});
    }
    return results;
}

Result<Response> decode_execution(JsonFields& fields, bool failed) {
    Execution execution;
    TRY_ASSIGN(execution.request_id, fields.string("request_id"));
    TRY_ASSIGN(execution.queue_ms, take_milliseconds(fields, "queue_ms"));
    TRY_ASSIGN(execution.elapsed_ms, take_milliseconds(fields, "elapsed_ms"));
    TRY_ASSIGN(execution.lease_wait_ms, take_milliseconds(fields, "lease_wait_ms"));
    TRY_ASSIGN(execution.lease_held_ms, take_milliseconds(fields, "lease_held_ms"));
    TRY_ASSIGN(execution.standard_output, fields.string("stdout"));
    TRY_ASSIGN(execution.standard_error, fields.string("stderr"));
    TRY_ASSIGN(execution.stdout_truncated, fields.boolean("stdout_truncated"));
    TRY_ASSIGN(execution.stderr_truncated, fields.boolean("stderr_truncated"));
    if (fields.has("gpu_ids") || fields.has("gpu_count")) {
        TRY_ASSIGN(execution.gpus, take_gpus(fields));
    }
    TRY_ASSIGN(JsonObject results, fields.object("results"));
    TRY_ASSIGN(execution.results, decode_results(std::move(results)));
    if (failed) {
        TRY_ASSIGN(Json error, fields.any("error"));
        TRY_ASSIGN(execution.error, decode_error(std::move(error), fields.path().child("error")));
    }
    return execution;
}

Result<Response> decode_cache_miss(JsonFields& fields) {
    CacheMiss miss;
    TRY_ASSIGN(miss.request_id, fields.string("request_id"));
    TRY_ASSIGN(JsonArray blobs, fields.array("missing_blobs"));
    if (blobs.empty()) return fields.fail("missing_blobs", "expected at least one");
    std::set<Digest> seen;
    for (const Json& blob : blobs) {
        auto digest = blob.string() ? Digest::from_hex(*blob.string()) : std::nullopt;
        if (!digest)
            return fields.fail("missing_blobs",
                               "expected digests, 64 lowercase hexadecimal digits");
        if (!seen.insert(*digest).second)
            return fields.fail("missing_blobs", quote(digest->hex()) + " is there twice");
        miss.missing_blobs.push_back(*digest);
    }
    return miss;
}

Result<Response> decode_error_reply(JsonFields& fields) {
    ErrorReply reply;
    TRY_ASSIGN(reply.request_id, fields.string("request_id"));
    TRY_ASSIGN(Json json, fields.any("error"));
    const JsonPath path = fields.path().child("error");
    TRY_ASSIGN(JsonFields error, JsonFields::open(std::move(json), path, code));
    TRY_ASSIGN(reply.kind, take_kind(error));
    TRY_ASSIGN(reply.message, error.string("message"));
    TRY(error.done());
    return reply;
}

Result<std::map<std::string, std::string>> take_map(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(JsonObject object, fields.object(name));
    std::map<std::string, std::string> map;
    for (JsonMember& member : object) {
        std::string* text = member.value.string();
        if (!text) return unexpected_kind(fields.path().child(name), code, "strings", member.value);
        map.emplace(std::move(member.name), std::move(*text));
    }
    return map;
}

Result<Health::Load> decode_load(Json json, const JsonPath& path) {
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), path, code));
    Health::Load load;
    TRY_ASSIGN(load.request_capacity, take_count(fields, "request_capacity"));
    TRY_ASSIGN(load.requests_in_progress, take_count(fields, "requests_in_progress"));
    TRY_ASSIGN(load.requests_waiting, take_count(fields, "requests_waiting"));
    TRY(fields.done());
    return load;
}

}  // namespace

Result<Response> decode_response(std::string_view json_text) {
    TRY_ASSIGN(Json json, parse(json_text));
    const JsonPath root("response", JsonPath::Root::hidden);
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), root, code));
    TRY_ASSIGN(std::string status, fields.string("status"));
    Result<Response> response =
        status == "COMPLETED" || status == "FAILED" ? decode_execution(fields, status == "FAILED")
        : status == "CACHE_MISS"                    ? decode_cache_miss(fields)
        : status == "ERROR"
            ? decode_error_reply(fields)
            : Result<Response>(fields.fail("status", "unknown status " + quote(status)));
    TRY(response);
    TRY(fields.done());
    return response;
}

Result<Health> decode_health(std::string_view json_text) {
    TRY_ASSIGN(Json json, parse(json_text));
    const JsonPath root("health", JsonPath::Root::hidden);
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), root, code));
    Health health;
    TRY_ASSIGN(health.status, fields.string("status"));
    TRY_ASSIGN(health.instance_id, fields.string("instance_id"));
    TRY_ASSIGN(health.started_at, fields.string("started_at"));
    TRY_ASSIGN(Json gpu_count, fields.any("gpu_count"));
    if (!gpu_count.is_null()) {
        if (gpu_count.integer()) health.gpu_count = gpu_count.integer()->to_uint64();
        if (!health.gpu_count) return fields.fail("gpu_count", "expected a count or null");
    }
    TRY_ASSIGN(Json load, fields.any("load"));
    TRY_ASSIGN(health.load, decode_load(std::move(load), root.child("load")));
    TRY_ASSIGN(health.target, take_map(fields, "target"));
    TRY_ASSIGN(health.versions, take_map(fields, "versions"));
    TRY(fields.done());
    return health;
}

}  // namespace kcoral::protocol
