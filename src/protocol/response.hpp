// The documents a server answers with: an execution's outcome, missing blobs, errors, health.
//
// Writers produce the contract's members in the contract's order.
#pragma once

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/error_kind.hpp"
#include "protocol/value.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kcoral::protocol {

// A call of the CUDA driver or runtime where none was allowed.
struct GpuAccess {
    std::string cuda_call;
    std::string location;
    std::optional<std::string> interfered_request_id;

    bool operator==(const GpuAccess&) const = default;
};

struct InstructionError {
    ErrorKind kind{};
    std::string message;
    std::uint64_t instruction_index = 0;
    std::string instruction_op;
    std::optional<std::string> instruction_id;  // absent for a return
    std::string traceback;                      // its last 8192 bytes are sent
    std::optional<GpuAccess> gpu_access;        // for that kind

    bool operator==(const InstructionError&) const = default;
};

struct GpuGrant {
    std::vector<std::int64_t> gpu_ids;
    int gpu_count = 0;

    bool operator==(const GpuGrant&) const = default;
};

// COMPLETED, or FAILED when there is an error.
struct Execution {
    std::string request_id;
    double queue_ms = 0;
    double elapsed_ms = 0;
    double lease_wait_ms = 0;
    double lease_held_ms = 0;
    std::string standard_output;  // UTF-8
    std::string standard_error;
    bool stdout_truncated = false;
    bool stderr_truncated = false;
    std::optional<GpuGrant> gpus;      // when the program asked for a number of them
    std::vector<ValueMember> results;  // in the order of their returns
    std::optional<InstructionError> error;

    bool operator==(const Execution&) const = default;
};

struct CacheMiss {
    std::string request_id;
    std::vector<Digest> missing_blobs;  // in the order of first reference

    bool operator==(const CacheMiss&) const = default;
};

struct ErrorReply {
    std::string request_id;
    ErrorKind kind{};
    std::string message;

    bool operator==(const ErrorReply&) const = default;
};

using Response = std::variant<Execution, CacheMiss, ErrorReply>;

// The JSON document. An execution's parts are numbered through all its results; when it has any,
// the document is the `result` part of a multipart response, before them.
std::string to_text(const Execution& execution);
std::string to_text(const CacheMiss& miss);
std::string to_text(const ErrorReply& reply);

// Reads any of the three strictly: exactly the contract's members. Errors are `protocol`.
Result<Response> decode_response(std::string_view json_text);

inline constexpr std::size_t max_traceback_bytes = 8192;
// The last `max_bytes` of the text, less what would be a torn character.
std::string_view last_bytes(std::string_view utf8, std::size_t max_bytes);

struct Health {
    struct Load {
        std::uint64_t request_capacity = 0;
        std::uint64_t requests_in_progress = 0;
        std::uint64_t requests_waiting = 0;

        bool operator==(const Load&) const = default;
    };
    std::string status;  // "ok", of a router also "unavailable"
    std::string instance_id;
    std::string started_at;                  // RFC 3339, UTC, microseconds, Z
    std::optional<std::uint64_t> gpu_count;  // absent on a router
    Load load;
    std::map<std::string, std::string> target;    // {"arch": "sm_90a"}; empty on a CPU server
    std::map<std::string, std::string> versions;  // of what is installed

    bool operator==(const Health&) const = default;
};

std::string to_text(const Health& health);
Result<Health> decode_health(std::string_view json_text);

}  // namespace kcoral::protocol
