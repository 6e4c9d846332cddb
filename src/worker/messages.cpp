// Encoding and decoding of the messages. Decoders check every member: a message is taken whole or
// refused.
#include "worker/messages.hpp"

#include "protocol/json_writer.hpp"
#include "protocol/value.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <utility>

namespace kcoral::worker {
namespace {

using protocol::Json;
using protocol::JsonWriter;

JsonWriter message(std::string_view type) {
    JsonWriter writer;
    writer.begin_object().key("type").string(type);
    return writer;
}

std::string finish(JsonWriter& writer) {
    writer.end_object();
    return std::move(writer).take();
}

Failure bad_message(std::string_view what) {
    return failure(ErrorCode::protocol, fmt::format("a message on a worker channel: {}", what));
}

// A returned value may nest this deep; every other message is flat.
constexpr protocol::JsonLimits json_limits{.depth = protocol::max_value_json_depth};

// The members of a received object, taken one by one; the first that is missing or of another type
// is remembered as the fault.
class Reader {
  public:
    static Result<Reader> parse(std::string_view text) {
        auto json = protocol::parse_json(text, json_limits);
        if (!json) return bad_message(json.error().message);
        return Reader(std::move(*json));
    }
    explicit Reader(Json json) : json_(std::move(json)) {
        if (!json_.object()) fail("it", "an object");
    }

    std::string string(std::string_view name) {
        Json* found = find(name);
        if (found && found->string()) return std::move(*found->string());
        return fail(name, "a string"), std::string();
    }
    bool boolean(std::string_view name) {
        Json* found = find(name);
        if (found && found->boolean()) return *found->boolean();
        return fail(name, "a boolean"), false;
    }
    double number(std::string_view name) {
        Json* found = find(name);
        if (found && found->number()) return *found->number();
        if (found && found->integer()) return found->integer()->to_double();
        return fail(name, "a number"), 0;
    }
    template <typename Unsigned = std::uint64_t>
    Unsigned integer(std::string_view name) {
        Json* found = find(name);
        auto value = found && found->integer() ? found->integer()->to_uint64() : std::nullopt;
        if (value && std::in_range<Unsigned>(*value)) return static_cast<Unsigned>(*value);
        return fail(name, "an integer in range"), 0;
    }
    protocol::JsonArray array(std::string_view name) {
        Json* found = find(name);
        if (found && found->array()) return std::move(*found->array());
        return fail(name, "an array"), protocol::JsonArray();
    }
    protocol::JsonObject object(std::string_view name) {
        Json* found = find(name);
        if (found && found->object()) return std::move(*found->object());
        return fail(name, "an object"), protocol::JsonObject();
    }
    Json any(std::string_view name) {
        Json* found = find(name);
        if (found) return std::move(*found);
        return fail(name, "there"), Json();
    }
    void expect(bool truth, std::string_view name, std::string_view expected) {
        if (!truth) fail(name, expected);
    }

    Result<void> finish() {
        if (fault_.empty()) return {};
        return bad_message(fault_);
    }

  private:
    Json* find(std::string_view name) {
        return json_.object() ? json_.object()->find(name) : nullptr;
    }
    void fail(std::string_view name, std::string_view expected) {
        if (fault_.empty()) fault_ = fmt::format("{} should be {}", name, expected);
    }

    Json json_;
    std::string fault_;
};

Result<void> expect_descriptors(const Packet& packet, std::size_t count) {
    if (packet.descriptors.size() == count) return {};
    return bad_message(
        fmt::format("it brought {} descriptors, not {}", packet.descriptors.size(), count));
}

}  // namespace

Result<void> send(Channel& channel, const Fork& request) {
    JsonWriter writer = message("fork");
    writer.key("worker").string(request.worker);
    writer.key("workspace").string(request.workspace);
    const Fd* descriptors[] = {&request.channel, &request.stdout_pipe, &request.stderr_pipe,
                               &request.exit_pipe};
    return channel.send(finish(writer), descriptors);
}

Result<Fork> decode_fork(Packet packet) {
    TRY_ASSIGN(Reader reader, Reader::parse(packet.body));
    reader.expect(reader.string("type") == "fork", "type", "\"fork\"");
    Fork message;
    message.worker = reader.string("worker");
    message.workspace = reader.string("workspace");
    TRY(reader.finish());
    TRY(expect_descriptors(packet, 4));
    message.channel = std::move(packet.descriptors[0]);
    message.stdout_pipe = std::move(packet.descriptors[1]);
    message.stderr_pipe = std::move(packet.descriptors[2]);
    message.exit_pipe = std::move(packet.descriptors[3]);
    return message;
}

Result<void> send(Channel& channel, const Execute& request) {
    JsonWriter writer = message("execute");
    writer.key("request_id").string(request.request_id);
    writer.key("program").string(request.program);
    writer.key("blobs").begin_array();
    for (const Execute::Blob& blob : request.blobs) {
        writer.begin_object().key("sha256").string(blob.digest.hex());
        writer.key("descriptor").integer(blob.descriptor);
        writer.key("offset").integer(blob.offset);
        writer.key("size").integer(blob.size).end_object();
    }
    writer.end_array();
    writer.key("host_tensors").boolean(request.host_tensors);
    writer.key("max_result_bytes").integer(request.max_result_bytes);
    writer.key("termination_grace_seconds").number(request.termination_grace_seconds);
    writer.key("reusable").boolean(request.reusable);
    std::vector<const Fd*> descriptors;
    for (const Fd& file : request.files)
        descriptors.push_back(&file);
    return channel.send(finish(writer), descriptors);
}

Result<Execute> decode_execute(Packet packet) {
    TRY_ASSIGN(Reader reader, Reader::parse(packet.body));
    reader.expect(reader.string("type") == "execute", "type", "\"execute\"");
    Execute message;
    message.request_id = reader.string("request_id");
    message.program = reader.string("program");
    for (Json& item : reader.array("blobs")) {
        Reader entry(std::move(item));
        auto digest = Digest::from_hex(entry.string("sha256"));
        entry.expect(digest.has_value(), "sha256", "a digest");
        Execute::Blob blob;
        if (digest) blob.digest = *digest;
        blob.descriptor = entry.integer<std::uint32_t>("descriptor");
        blob.offset = entry.integer("offset");
        blob.size = entry.integer("size");
        entry.expect(blob.descriptor < packet.descriptors.size(), "descriptor",
                     "the index of a descriptor");
        TRY(entry.finish());
        message.blobs.push_back(blob);
    }
    message.host_tensors = reader.boolean("host_tensors");
    message.max_result_bytes = reader.integer("max_result_bytes");
    message.termination_grace_seconds = reader.number("termination_grace_seconds");
    message.reusable = reader.boolean("reusable");
    TRY(reader.finish());
    message.files = std::move(packet.descriptors);
    return message;
}

namespace {

Result<void> send_one(Channel& channel, const ZygoteReady& ready) {
    JsonWriter writer = message("zygote_ready");
    writer.key("python").string(ready.python);
    writer.key("versions").begin_object();
    for (const auto& [component, version] : ready.versions)
        writer.key(component).string(version);
    writer.end_object().key("preloads").begin_array();
    for (const ZygoteReady::Preload& preload : ready.preloads) {
        writer.begin_object().key("module").string(preload.module);
        writer.key("milliseconds").number(preload.milliseconds);
        writer.key("error").string(preload.error).end_object();
    }
    writer.end_array().key("isolation").string(ready.isolation);
    writer.key("why_not_better").string(ready.why_not_better);
    return channel.send(finish(writer));
}

Result<void> send_one(Channel& channel, const Forked& forked) {
    JsonWriter writer = message("forked");
    writer.key("worker").string(forked.worker).key("pid").integer(forked.pid);
    const Fd* descriptors[] = {&forked.pidfd};
    return channel.send(finish(writer), descriptors);
}

Result<void> send_one(Channel& channel, const ForkFailed& failed) {
    JsonWriter writer = message("fork_failed");
    writer.key("worker").string(failed.worker).key("message").string(failed.message);
    return channel.send(finish(writer));
}

Result<void> send_one(Channel& channel, const WorkerReady&) {
    JsonWriter writer = message("worker_ready");
    return channel.send(finish(writer));
}

Result<void> send_one(Channel& channel, const Started& started) {
    JsonWriter writer = message("started");
    writer.key("instruction").integer(started.instruction);
    return channel.send(finish(writer));
}

Result<void> send_one(Channel& channel, const Returned& returned) {
    return send_returned(channel, returned.instruction, protocol::to_text(returned.value),
                         returned.payload);
}

Result<void> send_one(Channel& channel, const Finished& finished) {
    JsonWriter writer = message("finished");
    writer.key("error");
    if (const auto& error = finished.error) {
        writer.begin_object().key("kind").string(to_string(error->kind));
        writer.key("message").string(error->message);
        writer.key("instruction").integer(error->instruction);
        writer.key("traceback").string(error->traceback).end_object();
    } else {
        writer.null();
    }
    writer.key("retire").string(finished.retire);
    return channel.send(finish(writer));
}

Result<ZygoteReady> read_zygote_ready(Reader& reader) {
    ZygoteReady message;
    message.python = reader.string("python");
    for (auto& [component, version] : reader.object("versions")) {
        const std::string* text = version.string();
        reader.expect(text != nullptr, "a version", "a string");
        if (text) message.versions.emplace(component, *text);
    }
    for (Json& item : reader.array("preloads")) {
        Reader entry(std::move(item));
        message.preloads.push_back(
            {entry.string("module"), entry.number("milliseconds"), entry.string("error")});
        TRY(entry.finish());
    }
    message.isolation = reader.string("isolation");
    message.why_not_better = reader.string("why_not_better");
    return message;
}

Result<Finished> read_finished(Reader& reader) {
    Finished message;
    Json error = reader.any("error");
    if (!error.is_null()) {
        Reader entry(std::move(error));
        Finished::Failure failure;
        auto kind = protocol::error_kind_from(entry.string("kind"));
        entry.expect(kind.has_value(), "kind", "an error kind");
        if (kind) failure.kind = *kind;
        failure.message = entry.string("message");
        failure.instruction = entry.integer<std::uint32_t>("instruction");
        failure.traceback = entry.string("traceback");
        TRY(entry.finish());
        message.error = std::move(failure);
    }
    message.retire = reader.string("retire");
    return message;
}

}  // namespace

Result<void> send(Channel& channel, const FromZygote& message) {
    return std::visit([&](const auto& one) { return send_one(channel, one); }, message);
}

Result<void> send(Channel& channel, const FromWorker& message) {
    return std::visit([&](const auto& one) { return send_one(channel, one); }, message);
}

Result<void> send_returned(Channel& channel, std::uint32_t instruction, std::string_view value,
                           const std::optional<Fd>& payload) {
    JsonWriter writer = message("returned");
    writer.key("instruction").integer(instruction).key("value").raw(value);
    if (!payload) return channel.send(finish(writer));
    const Fd* descriptors[] = {&*payload};
    return channel.send(finish(writer), descriptors);
}

Result<FromZygote> decode_from_zygote(Packet packet) {
    TRY_ASSIGN(Reader reader, Reader::parse(packet.body));
    std::string type = reader.string("type");
    FromZygote message;
    std::size_t descriptors = 0;
    if (type == "zygote_ready") {
        TRY_ASSIGN(message, read_zygote_ready(reader));
    } else if (type == "forked") {
        Forked forked{reader.string("worker"), reader.integer<int>("pid"), {}};
        descriptors = 1;
        TRY(expect_descriptors(packet, 1));
        forked.pidfd = std::move(packet.descriptors.front());
        message = std::move(forked);
    } else if (type == "fork_failed") {
        message = ForkFailed{reader.string("worker"), reader.string("message")};
    } else {
        return bad_message(fmt::format("a zygote sends no \"{}\"", type));
    }
    TRY(reader.finish());
    TRY(expect_descriptors(packet, descriptors));
    return message;
}

Result<FromWorker> decode_from_worker(Packet packet) {
    TRY_ASSIGN(Reader reader, Reader::parse(packet.body));
    std::string type = reader.string("type");
    FromWorker message;
    std::size_t descriptors = 0;
    if (type == "worker_ready") {
        message = WorkerReady{};
    } else if (type == "started") {
        message = Started{reader.integer<std::uint32_t>("instruction")};
    } else if (type == "returned") {
        Returned returned{reader.integer<std::uint32_t>("instruction"), reader.any("value"), {}};
        returned.value_bytes = packet.body.size();
        descriptors = packet.descriptors.size();
        if (descriptors > 1) TRY(expect_descriptors(packet, 1));
        if (descriptors == 1) {
            TRY(seal_memory_file(packet.descriptors.front()));
            returned.payload = std::move(packet.descriptors.front());
        }
        message = std::move(returned);
    } else if (type == "finished") {
        TRY_ASSIGN(message, read_finished(reader));
    } else {
        return bad_message(fmt::format("a worker sends no \"{}\"", type));
    }
    TRY(reader.finish());
    TRY(expect_descriptors(packet, descriptors));
    return message;
}

}  // namespace kcoral::worker
