// Outcomes as HTTP responses.
#include "server/replies.hpp"

#include "base/uuid.hpp"
#include "protocol/multipart_writer.hpp"

#include <utility>

namespace kcoral::server {
namespace {

using protocol::ErrorKind;

constexpr const char* request_id_header = "X-Request-ID";

// `parse` is the word for a request nobody could make sense of, on whatever level.
ErrorKind kind_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::too_large:
            return ErrorKind::request_too_large;
        case ErrorCode::busy:
            return ErrorKind::busy;
        case ErrorCode::timeout:
            return ErrorKind::timeout;
        case ErrorCode::bad_request:
        case ErrorCode::protocol:
        case ErrorCode::closed:
        case ErrorCode::cancelled:
            return ErrorKind::parse;
        default:
            return ErrorKind::engine;
    }
}

ErrorKind kind_of_status(unsigned status) {
    switch (status) {
        case 408:
            return ErrorKind::timeout;
        case 413:
            return ErrorKind::request_too_large;
        case 503:
            return ErrorKind::busy;
        default:
            return status >= 500 && status != 501 && status != 505 ? ErrorKind::engine
                                                                   : ErrorKind::parse;
    }
}

ErrorKind kind_of_ending(engine::Ending ending) {
    switch (ending) {
        case engine::Ending::timeout:
            return ErrorKind::timeout;
        case engine::Ending::response_too_large:
            return ErrorKind::response_too_large;
        case engine::Ending::busy:
        case engine::Ending::shutting_down:
        case engine::Ending::cancelled:
            return ErrorKind::busy;
        default:
            return ErrorKind::engine;
    }
}

protocol::InstructionError instruction_error(const protocol::Program& program,
                                             engine::ProgramFailure failure) {
    const protocol::Instruction& instruction = program.instructions.at(failure.instruction);
    protocol::InstructionError error;
    error.kind = failure.kind;
    error.message = std::move(failure.message);
    error.instruction_index = failure.instruction;
    error.instruction_op = protocol::operation(instruction);
    if (const std::string* id = protocol::instruction_id(instruction)) error.instruction_id = *id;
    error.traceback = std::move(failure.traceback);
    return error;
}

// Where each part's bytes lie, in the order of the parts.
std::vector<net::FileRange> part_ranges(const std::vector<engine::ReturnedResult>& results) {
    std::vector<net::FileRange> ranges;
    for (const engine::ReturnedResult& result : results) {
        std::uint64_t offset = 0;
        protocol::for_each_part(result.value, [&](const protocol::Part& part) {
            ranges.push_back({result.payload, offset, part.size});
            offset += part.size;
        });
    }
    return ranges;
}

net::Response execution_reply(const protocol::Execution& execution,
                              const std::vector<net::FileRange>& ranges) {
    std::string document = protocol::to_text(execution);
    if (ranges.empty()) return json_reply(200, std::move(document));

    std::vector<protocol::OutgoingPart> parts{{"result", "application/json", document.size()}};
    for (std::size_t i = 0; i < ranges.size(); ++i)
        parts.push_back({protocol::part_name(static_cast<std::uint32_t>(i)),
                         "application/octet-stream", ranges[i].length});
    protocol::MultipartFrame frame(parts);
    net::Response response;
    response.headers.add("Content-Type", frame.content_type());
    response.body.emplace_back(frame.head(0) + document);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        response.body.emplace_back(frame.head(i + 1));
        if (ranges[i].length > 0) response.body.emplace_back(ranges[i]);
    }
    response.body.emplace_back(frame.closing());
    return response;
}

}  // namespace

std::string choose_request_id(const net::Headers& headers) {
    auto values = headers.all(request_id_header);
    if (values.size() == 1 && is_canonical_uuid(values[0])) return std::string(values[0]);
    return make_uuid();
}

net::Response json_reply(unsigned status, std::string document) {
    return net::make_response(status, "application/json", std::move(document));
}

net::Response error_reply(const std::string& request_id, ErrorKind kind, std::string message,
                          unsigned status) {
    if (status == 0) status = static_cast<unsigned>(protocol::http_status(kind));
    net::Response response =
        json_reply(status, protocol::to_text(protocol::ErrorReply{request_id, kind, message}));
    response.headers.add(request_id_header, request_id);
    if (status == 503) response.headers.add("Retry-After", "1");
    return response;
}

net::Response refusal_reply(const std::string& request_id, const Error& error) {
    ErrorKind kind = kind_of(error);
    // The budget of an execution is a gateway's timeout; a client that sends too slowly has its
    // own.
    unsigned status = kind == ErrorKind::timeout ? 408 : 0;
    return error_reply(request_id, kind, error.message, status);
}

net::Response cache_miss_reply(const protocol::CacheMiss& miss) {
    net::Response response = json_reply(200, protocol::to_text(miss));
    response.headers.add(request_id_header, miss.request_id);
    return response;
}

net::Response outcome_reply(const std::string& request_id, const protocol::Program& program,
                            engine::Outcome outcome) {
    if (outcome.ending != engine::Ending::completed && outcome.ending != engine::Ending::failed)
        return error_reply(request_id, kind_of_ending(outcome.ending), outcome.message);

    protocol::Execution execution;
    execution.request_id = request_id;
    execution.queue_ms = outcome.timings.queue_ms;
    execution.elapsed_ms = outcome.timings.elapsed_ms;
    execution.lease_wait_ms = outcome.timings.lease_wait_ms;
    execution.lease_held_ms = outcome.timings.lease_held_ms;
    execution.standard_output = std::move(outcome.standard_output.text);
    execution.standard_error = std::move(outcome.standard_error.text);
    execution.stdout_truncated = outcome.standard_output.truncated;
    execution.stderr_truncated = outcome.standard_error.truncated;
    std::vector<net::FileRange> ranges = part_ranges(outcome.results);
    for (engine::ReturnedResult& result : outcome.results)
        execution.results.push_back({std::move(result.key), std::move(result.value)});
    if (outcome.failure) execution.error = instruction_error(program, std::move(*outcome.failure));

    net::Response response = execution_reply(execution, ranges);
    response.headers.add(request_id_header, request_id);
    return response;
}

net::Response problem_reply(const net::Problem& problem) {
    std::string request_id = problem.head ? choose_request_id(problem.head->headers) : make_uuid();
    return error_reply(request_id, kind_of_status(problem.status), problem.message, problem.status);
}

}  // namespace kcoral::server
