// The documents that tell a server's state in few words.
#include "server/health.hpp"

#include "protocol/json_writer.hpp"
#include "protocol/response.hpp"
#include "server/replies.hpp"

namespace kcoral::server {
namespace {

// What a client may build for: on a CPU server only the libraries it could load there.
std::map<std::string, std::string> shown_versions(const State& state) {
    std::map<std::string, std::string> shown;
    if (auto found = state.versions.find("tvm_ffi"); found != state.versions.end())
        shown.insert(*found);
    return shown;
}

void write_map(protocol::JsonWriter& writer, const std::map<std::string, std::string>& map) {
    writer.begin_object();
    for (const auto& [name, value] : map)
        writer.key(name).string(value);
    writer.end_object();
}

}  // namespace

net::Response health(const State& state, const net::Request& request) {
    if (request.has_query()) {
        return problem_reply({400, "/health takes no query", &request.head()});
    }
    engine::Scheduler::Load load = state.engine->load();
    protocol::Health health;
    health.status = "ok";
    health.instance_id = state.instance_id;
    health.started_at = to_rfc3339(state.started_at);
    health.gpu_count = 0;
    health.load = {load.capacity, load.running, load.waiting};
    health.versions = shown_versions(state);
    return json_reply(200, protocol::to_text(health));
}

net::Response worker_status(const State& state, const net::Request& request) {
    if (!request.peer().is_loopback())
        return problem_reply({404, "there is no " + request.path() + " here", &request.head()});
    engine::Scheduler::Load load = state.engine->load();
    protocol::JsonWriter writer;
    writer.begin_object();
    writer.key("status").string("ok");
    writer.key("instance_id").string(state.instance_id);
    writer.key("target").begin_object().end_object();
    write_map(writer.key("versions"), shown_versions(state));
    writer.key("worker_count").integer(load.capacity);
    writer.key("busy_workers").integer(load.running);
    writer.end_object();
    return json_reply(200, std::move(writer).take());
}

}  // namespace kcoral::server
