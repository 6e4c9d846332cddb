// Bodies by the protocol's own writers, answers by its readers.
#include "requests.hpp"

#include "protocol/multipart_writer.hpp"
#include "protocol/program.hpp"
#include "protocol/response.hpp"

#include <fmt/format.h>

#include <span>
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

// Every part's payload is in `payloads`, in the order of `parts`.
Exchange post(const std::vector<protocol::OutgoingPart>& parts,
              const std::vector<std::string_view>& payloads) {
    protocol::MultipartFrame frame(parts);
    std::string body;
    body.reserve(frame.content_length());
    for (std::size_t i = 0; i < parts.size(); ++i)
        body.append(frame.head(i)).append(payloads[i]);
    body += frame.closing();
    Exchange exchange{"POST", "/execute", {}, nullptr, body.size(), {}};
    exchange.headers.add("Content-Type", frame.content_type());
    exchange.body = std::make_shared<const std::string>(std::move(body));
    return exchange;
}

protocol::OutgoingPart program_part(std::string_view text) {
    return {"program", "application/json", text.size()};
}

}  // namespace

Exchange health_exchange() {
    Exchange exchange{"GET", "/health", {}, std::make_shared<const std::string>(), 0, {}};
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

Exchange upload_exchange(std::uint64_t bytes) {
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
    Exchange exchange = post(
        {program_part(text), {"blob:" + digest.hex(), "application/octet-stream", blob.size()}},
        {text, blob});
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
