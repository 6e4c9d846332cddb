// Executor: runs one program, instruction by instruction, and reports each step as it happens.
//
// Uploaded code may do anything to the interpreter around it, exit the process included; what the
// executor itself needs of Python it asks for defensively. Kinds of failure that the contract
// leaves open: an upload that cannot be written into the workspace is `runtime`; a file or folder
// that cannot be returned, whatever the reason, is `serialization`; passing the limit of results is
// `response_too_large`. A process that uploaded code forked off and let come back here is ended:
// only the worker speaks. Needs the GIL.
#pragma once

#include "protocol/program.hpp"
#include "worker/channel.hpp"
#include "worker/failure.hpp"
#include "worker/messages.hpp"
#include "worker/modules.hpp"
#include "worker/payload.hpp"
#include "worker/uploads.hpp"
#include "worker/value_text.hpp"
#include "worker/workspace.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kcoral::worker {

class Executor {
  public:
    // All three must outlive it.
    Executor(Channel& channel, const Workspace& workspace, const Execute& request);

    // The failure of the instruction that failed, nothing when all ran. An Error when the channel
    // broke: nobody listens any more.
    Result<std::optional<Finished::Failure>> run();

    // The instruction that ran last.
    std::uint32_t last_instruction() const { return current_; }

  private:
    // A value that a return made, to be sent.
    struct Encoded {
        std::string text;
        std::optional<Fd> payload;
    };

    void run_instruction(const protocol::Instruction& instruction);
    const nanobind::object& handle(protocol::Reference reference) const;
    void keep_result(ValueText text, Payload payload);

    // Each gives the instruction's value; returns have none.
    nanobind::object perform(const protocol::UploadModule& operation);
    nanobind::object perform(const protocol::UploadTensor& operation);
    nanobind::object perform(const protocol::UploadBytes& operation);
    nanobind::object perform(const protocol::UploadLibrary& operation);
    nanobind::object perform(const protocol::UploadFile& operation);
    nanobind::object perform(const protocol::GetFunction& operation);
    nanobind::object perform(const protocol::Run& operation);
    nanobind::object perform(const protocol::ReturnValue& operation);
    nanobind::object perform(const protocol::ReturnPath& operation);

    Channel& channel_;
    const Workspace& workspace_;
    const Execute& request_;
    Uploads uploads_;
    UploadedModules modules_;
    std::vector<nanobind::object> handles_;  // by instruction; invalid until it ran
    std::uint64_t result_bytes_left_;
    std::uint32_t current_ = 0;
    std::optional<Encoded> encoded_;  // by the return that has just run
};

}  // namespace kcoral::worker
