// The messages between the server, the zygote and the workers: one struct each, one JSON object on
// the wire with a `type`, descriptors beside it in the order the comments give.
//
//   server ──Fork──▶ zygote            zygote ──ZygoteReady, Forked, ForkFailed──▶ server
//   server ──Execute──▶ worker         worker ──WorkerReady, Started, Returned, Finished──▶ server
//
// The worker's half comes from a process that ran user code: the server believes none of it unread.
#pragma once

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/sha256.hpp"
#include "protocol/error_kind.hpp"
#include "protocol/json.hpp"
#include "worker/channel.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kcoral::worker {

// To the zygote: fork a worker.
struct Fork {
    std::string worker;     // its name, "cpu/w0#3": seat and generation
    std::string workspace;  // the folder that becomes its workspace, as the zygote sees it
    Fd channel;             // descriptors 0-3: the worker's end of its channel,
    Fd stdout_pipe;         //   where its output goes (two),
    Fd stderr_pipe;
    Fd exit_pipe;  //   and where its init writes the worker's wait status (an int) last
};

// From the zygote, once: the preloads are done, workers can be forked.
struct ZygoteReady {
    struct Preload {
        std::string module;
        double milliseconds = 0;
        std::string error;  // why it was dropped; empty when it is loaded
    };
    std::string python;                           // "3.11.2"
    std::map<std::string, std::string> versions;  // as /health shows them
    std::vector<Preload> preloads;
    std::string isolation;       // of the seats, as sandbox::to_string(Isolation) says it
    std::string why_not_better;  // why they are not isolated better; empty when they are
};

// From the zygote: the worker's init runs.
struct Forked {
    std::string worker;
    int pid = 0;  // of its init, as the zygote sees it
    Fd pidfd;     // descriptor 0: of its init
};

struct ForkFailed {
    std::string worker;
    std::string message;
};

// To a worker: run one program.
struct Execute {
    struct Blob {
        Digest digest;
        std::uint32_t descriptor = 0;  // index into `files`
        std::uint64_t offset = 0;      // where in that file its bytes begin
        std::uint64_t size = 0;
    };
    std::string request_id;
    std::string program;  // the program part as the client sent it; valid, but parsed again
    std::vector<Blob> blobs;
    std::vector<Fd> files;  // all descriptors
    bool host_tensors = false;
    std::uint64_t max_result_bytes =
        0;  // payload bytes of all returns together: more fails the return
    double termination_grace_seconds = 5;  // how long processes the program left may take to end
    // Another program may follow: the worker restores itself before Finished and is ready again
    // soon after. Otherwise it exits once it has sent Finished.
    bool reusable = false;
};

// From a worker: it waits for a program. The first message after the fork, and sent again after
// each Finished when it can take another program.
struct WorkerReady {};

// From a worker: instruction `instruction` begins.
struct Started {
    std::uint32_t instruction = 0;
};

// From a worker: a return ran. The value is a protocol value tree without digests, its parts
// numbered from 0 within this return and lying one after the other in the payload.
struct Returned {
    std::uint32_t instruction = 0;
    protocol::Json value;
    std::optional<Fd> payload;      // descriptor 0, a memory file, when the value has parts
    std::uint64_t value_bytes = 0;  // of the value's text, about; filled in by the receiver
};

// From a worker: the program is over.
struct Finished {
    struct Failure {
        protocol::ErrorKind kind{};
        std::string message;
        std::uint32_t instruction = 0;
        std::string traceback;
    };
    std::optional<Failure> error;
    // Why this worker must not serve again ("sandbox_cleanup: 2 threads are left"); empty: it may.
    std::string retire;
};

using FromZygote = std::variant<ZygoteReady, Forked, ForkFailed>;
using FromWorker = std::variant<WorkerReady, Started, Returned, Finished>;

// Each sends one message. The descriptors inside stay the message's.
Result<void> send(Channel& channel, const Fork& message);
Result<void> send(Channel& channel, const Execute& message);
Result<void> send(Channel& channel, const FromZygote& message);
Result<void> send(Channel& channel, const FromWorker& message);
// Sends a Returned whose value is JSON text already.
Result<void> send_returned(Channel& channel, std::uint32_t instruction, std::string_view value,
                           const std::optional<Fd>& payload);

// Each reads one packet; `protocol` when it is none of the messages expected there.
Result<Fork> decode_fork(Packet packet);
Result<Execute> decode_execute(Packet packet);
Result<FromZygote> decode_from_zygote(Packet packet);
Result<FromWorker> decode_from_worker(Packet packet);

}  // namespace kcoral::worker
