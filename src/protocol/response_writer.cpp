// The documents, member by member in the contract's order.
#include "protocol/json_writer.hpp"
#include "protocol/response.hpp"

namespace kcoral::protocol {
namespace {

void write_error(JsonWriter& json, const InstructionError& error) {
    json.key("error").begin_object();
    json.key("kind").string(to_string(error.kind));
    json.key("message").string(error.message);
    json.key("instruction_index").integer(error.instruction_index);
    json.key("instruction_op").string(error.instruction_op);
    json.key("instruction_id");
    if (error.instruction_id)
        json.string(*error.instruction_id);
    else
        json.null();
    json.key("traceback").string(last_bytes(error.traceback, max_traceback_bytes));
    if (error.gpu_access) {
        json.key("cuda_call").string(error.gpu_access->cuda_call);
        json.key("location").string(error.gpu_access->location);
        json.key("interfered_request_id");
        if (error.gpu_access->interfered_request_id)
            json.string(*error.gpu_access->interfered_request_id);
        else
            json.null();
    }
    json.end_object();
}

void write_map(JsonWriter& json, std::string_view name,
               const std::map<std::string, std::string>& map) {
    json.key(name).begin_object();
    for (const auto& [key, text] : map)
        json.key(key).string(text);
    json.end_object();
}

}  // namespace

std::string to_text(const Execution& execution) {
    JsonWriter json;
    json.begin_object();
    json.key("status").string(execution.error ? "FAILED" : "COMPLETED");
    json.key("request_id").string(execution.request_id);
    json.key("queue_ms").number(execution.queue_ms);
    json.key("elapsed_ms").number(execution.elapsed_ms);
    json.key("lease_wait_ms").number(execution.lease_wait_ms);
    json.key("lease_held_ms").number(execution.lease_held_ms);
    json.key("stdout").string(execution.standard_output);
    json.key("stderr").string(execution.standard_error);
    json.key("stdout_truncated").boolean(execution.stdout_truncated);
    json.key("stderr_truncated").boolean(execution.stderr_truncated);
    if (execution.gpus) {
        json.key("gpu_ids").begin_array();
        for (std::int64_t id : execution.gpus->gpu_ids)
            json.integer(id);
        json.end_array().key("gpu_count").integer(execution.gpus->gpu_count);
    }
    json.key("results").begin_object();
    std::uint32_t next_part = 0;
    for (const ValueMember& result : execution.results) {
        json.key(result.name);
        write_value(json, result.value, Digests::present, next_part);
    }
    json.end_object();
    if (execution.error) write_error(json, *execution.error);
    json.end_object();
    return std::move(json).take();
}

std::string to_text(const CacheMiss& miss) {
    JsonWriter json;
    json.begin_object().key("status").string("CACHE_MISS");
    json.key("missing_blobs").begin_array();
    for (const Digest& digest : miss.missing_blobs)
        json.string(digest.hex());
    json.end_array().key("request_id").string(miss.request_id).end_object();
    return std::move(json).take();
}

std::string to_text(const ErrorReply& reply) {
    JsonWriter json;
    json.begin_object().key("status").string("ERROR");
    json.key("request_id").string(reply.request_id);
    json.key("error").begin_object();
    json.key("kind").string(to_string(reply.kind));
    json.key("message").string(reply.message);
    json.end_object().end_object();
    return std::move(json).take();
}

std::string to_text(const Health& health) {
    JsonWriter json;
    json.begin_object();
    json.key("status").string(health.status);
    json.key("instance_id").string(health.instance_id);
    json.key("started_at").string(health.started_at);
    json.key("gpu_count");
    if (health.gpu_count)
        json.integer(*health.gpu_count);
    else
        json.null();
    json.key("load").begin_object();
    json.key("request_capacity").integer(health.load.request_capacity);
    json.key("requests_in_progress").integer(health.load.requests_in_progress);
    json.key("requests_waiting").integer(health.load.requests_waiting);
    json.end_object();
    write_map(json, "target", health.target);
    write_map(json, "versions", health.versions);
    json.end_object();
    return std::move(json).take();
}

std::string_view last_bytes(std::string_view utf8, std::size_t max_bytes) {
    if (utf8.size() <= max_bytes) return utf8;
    utf8.remove_prefix(utf8.size() - max_bytes);
    while (!utf8.empty() && (static_cast<unsigned char>(utf8.front()) & 0xC0) == 0x80)
        utf8.remove_prefix(1);
    return utf8;
}

}  // namespace kcoral::protocol
