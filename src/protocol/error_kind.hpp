// ErrorKind: what went wrong, in the words of the contract, and the HTTP status that says so.
#pragma once

#include <optional>
#include <string_view>

namespace kcoral::protocol {

enum class ErrorKind {
    parse,
    request_too_large,
    busy,
    timeout,
    engine,
    response_too_large,
    server_transport,
    // These arise only in an instruction, as parse and engine may too.
    compile,
    runtime,
    gpu_access,
    correctness,
    serialization,
    unavailable,
};

std::string_view to_string(ErrorKind kind);
std::optional<ErrorKind> error_kind_from(std::string_view text);

// The status of an ERROR response of that kind. 200 for the kinds that only an instruction has: a
// program that FAILED was served.
int http_status(ErrorKind kind);

}  // namespace kcoral::protocol
