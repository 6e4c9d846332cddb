// Bodies by the protocol's own writers, answers by its readers.
#include "requests.hpp"

#include "protocol/multipart_writer.hpp"
#include "protocol/program.hpp"
#include "protocol/response.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace kcoral::bench {
namespace {

Failure wrong(unsigned status, std::string_view body) {
    return failure(ErrorCode::protocol,
                   fmt::format("unexpected answer {}: {}", status, body.substr(0, 400)));
}

Result<protocol::Response> document(unsigned status, std::string_view body) {
    if (status != 200) return wrong(status, body);
    return protocol::decode_response(body);
}

Exchange post(const std::vector<protocol::OutgoingPart>& parts, std::vector<net::Piece> payloads) {
    protocol::MultipartFrame frame(parts);
    Exchange exchange{"POST", "/execute", {}, {}, frame.content_length(), {}};
    exchange.headers.add("Content-Type", frame.content_type());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        exchange.body.emplace_back(frame.head(i));
        exchange.body.push_back(std::move(payloads[i]));
    }
    exchange.body.emplace_back(frame.closing());
    return exchange;
}

protocol::OutgoingPart program_part(std::string_view text) {
    return {"program", "application/json", text.size()};
}

}  // namespace

Exchange health_exchange() {
    Exchange exchange{"GET", "/health", {}, {}, 0, {}};
    exchange.check = [](unsigned status, std::string_view body) -> Result<void> {
        if (status != 200) return wrong(status, body);
        TRY(protocol::decode_health(body));
        return {};
    };
    return exchange;
}

Exchange program_exchange() {
    protocol::Program program;
    program.instructions = {
        protocol::UploadModule{"upload_0", "def answer():\n    return 42\n"},
        protocol::GetFunction{"get_function_1", {0}, "answer", false},
        protocol::Run{"run_2", {1}, {}},
        protocol::ReturnValue{"output", {2}},
    };
    std::string text = protocol::to_text(program);
    Exchange exchange = post({program_part(text)}, {text});
    exchange.check = [](unsigned status, std::string_view body) -> Result<void> {
        TRY_ASSIGN(protocol::Response response, document(status, body));
        auto* execution = std::get_if<protocol::Execution>(&response);
        if (!execution || execution->error || execution->results.size() != 1)
            return wrong(status, body);
        return {};
    };
    return exchange;
}

Result<Exchange> upload_exchange(std::uint64_t bytes) {
    std::string blob(bytes, '\0');
    std::uint64_t state = 1;
    for (char& byte : blob) {  // noise, so that nothing on the way can make it smaller
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<char>(state >> 56);
    }
    Digest digest = Sha256::of(as_bytes(blob));
    Digest absent = Sha256::of(as_bytes("what no server has: " + digest.hex()));
    protocol::Program program;
    program.instructions = {protocol::UploadBytes{"upload_0", digest},
                            protocol::UploadBytes{"upload_1", absent}};
    std::string text = protocol::to_text(program);
    TRY_ASSIGN(Fd file, make_memory_file("bench-upload"));
    TRY(write_all(file, as_bytes(blob)));
    net::FileRange payload{std::make_shared<const Fd>(std::move(file)), 0, bytes};
    Exchange exchange =
        post({program_part(text), {"blob:" + digest.hex(), "application/octet-stream", bytes}},
             {text, std::move(payload)});
    exchange.payload_bytes = bytes;
    exchange.check = [absent](unsigned status, std::string_view body) -> Result<void> {
        TRY_ASSIGN(protocol::Response response, document(status, body));
        auto* miss = std::get_if<protocol::CacheMiss>(&response);
        if (!miss || miss->missing_blobs != std::vector{absent}) return wrong(status, body);
        return {};
    };
    return exchange;
}

}  // namespace kcoral::bench
