// InstructionFailed: an instruction cannot go on; and the making of one from a Python exception.
//
// The only C++ exception that crosses the executor's parts; the executor catches it and reports it.
// Needs the GIL.
#pragma once

#include "protocol/error_kind.hpp"

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

namespace kcoral::worker {

class InstructionFailed : public std::exception {
  public:
    InstructionFailed(protocol::ErrorKind kind, std::string message, std::string traceback = {})
        : kind(kind), message(std::move(message)), traceback(std::move(traceback)) {}

    const char* what() const noexcept override { return message.c_str(); }

    protocol::ErrorKind kind;
    std::string message;
    std::string traceback;  // its last bytes, as many as a response shows
};

// Where uploaded code was running when it raised: a module's body is judged by its own rule.
enum class Raised { in_module_body, in_call };

// Takes the exception that is set in this thread, which must be there, and makes it an object.
nanobind::object take_exception();

// The failure that the contract sees in an exception of uploaded code. Never raises itself,
// whatever the exception's own methods do.
InstructionFailed failure_from(nanobind::object exception, Raised where);

// The same with a kind that is known, for exceptions raised by what KCoral does to user's objects.
InstructionFailed failure_from(nanobind::object exception, protocol::ErrorKind kind);

// "ValueError: what it says", of bounded length; for exceptions that do not say, their type.
std::string summary_of(nanobind::handle exception);

}  // namespace kcoral::worker
