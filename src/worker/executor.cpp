// One function for each kind of instruction.
#include "worker/executor.hpp"

#include "base/utf8.hpp"
#include "protocol/workspace_path.hpp"
#include "worker/arguments.hpp"
#include "worker/descriptors.hpp"
#include "worker/payload.hpp"
#include "worker/python.hpp"
#include "worker/value_text.hpp"
#include "worker/values.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;
using protocol::ErrorKind;

// A process that uploaded code forked and that came back from it: it ends here as a script would.
[[noreturn]] void end_forked_process(int code) {
    for (const char* name : {"stdout", "stderr"})
        if (PyObject* stream = PySys_GetObject(name)) call_or_clear(stream, "flush");
    std::fflush(nullptr);
    ::_exit(code);
}

InstructionFailed result_failure(const Error& error) {
    return InstructionFailed(error.code == ErrorCode::too_large ? ErrorKind::response_too_large
                                                                : ErrorKind::serialization,
                             error.message);
}

// Every way a step can fail, as the failure the response shows.
template <typename Step>
std::optional<InstructionFailed> failure_of(Step step) {
    try {
        step();
        return std::nullopt;
    } catch (const InstructionFailed& failed) {
        return failed;
    } catch (nb::python_error& error) {
        error.restore();
        return failure_from(take_exception(), Raised::in_call);
    } catch (const std::bad_alloc&) {
        return InstructionFailed(ErrorKind::runtime, "the worker ran out of memory");
    } catch (const std::exception& error) {
        return InstructionFailed(ErrorKind::engine, error.what());
    }
}

// A program may give its files names that no path of the contract can have.
void check_name(const std::string& path) {
    if (is_utf8(path) && protocol::is_normal_path(path)) return;
    throw InstructionFailed(ErrorKind::serialization,
                            fmt::format("'{}' cannot be returned: a path must be UTF-8 and of "
                                        "bounded length",
                                        to_utf8(path)));
}

void write_folder(const Workspace::Folder& folder, ValueText& text) {
    text.begin_folder();
    for (const Workspace::Folder::File& file : folder.files) {
        check_name(file.path);
        text.key(file.path);
        text.file(file.size);
    }
    std::ranges::for_each(folder.directories, check_name);
    text.end_folder(folder.directories);
}

}  // namespace

Executor::Executor(Channel& channel, const Workspace& workspace, const Execute& request)
    : channel_(channel),
      workspace_(workspace),
      request_(request),
      uploads_(request),
      result_bytes_left_(request.max_result_bytes) {}

Result<std::optional<Finished::Failure>> Executor::run() {
    auto program = protocol::parse_program(request_.program);
    if (!program) return Finished::Failure{ErrorKind::engine, program.error().message, 0, ""};
    handles_.resize(program->instructions.size());
    for (std::uint32_t i = 0; i < program->instructions.size(); ++i) {
        current_ = i;
        TRY(send(channel_, FromWorker(Started{i})));
        auto failed = failure_of([&] { run_instruction(program->instructions[i]); });
        if (!is_the_worker()) end_forked_process(failed ? 1 : 0);
        if (failed)
            return Finished::Failure{failed->kind, to_utf8(failed->message), i,
                                     to_utf8(failed->traceback)};
        if (!encoded_) continue;
        TRY(send_returned(channel_, i, encoded_->text, encoded_->payload));
        encoded_.reset();
    }
    return std::nullopt;
}

void Executor::run_instruction(const protocol::Instruction& instruction) {
    nb::object value =
        std::visit([this](const auto& operation) { return perform(operation); }, instruction);
    handles_[current_] = std::move(value);
}

const nb::object& Executor::handle(protocol::Reference reference) const {
    return handles_.at(reference.instruction);
}

nb::object Executor::perform(const protocol::UploadModule& operation) {
    return modules_.upload(operation.id, operation.source);
}

nb::object Executor::perform(const protocol::UploadTensor& operation) {
    if (!request_.host_tensors)
        throw InstructionFailed(ErrorKind::unavailable,
                                "this server has no GPU for tensors; upload the data as bytes, or "
                                "use a server that has one (or runs with --host-tensors)");
    return uploads_.host_tensor(operation.blob, to_string(operation.dtype), operation.shape);
}

nb::object Executor::perform(const protocol::UploadBytes& operation) {
    return uploads_.bytes(operation.blob);
}

nb::object Executor::perform(const protocol::UploadLibrary&) {
    throw InstructionFailed(ErrorKind::unavailable,
                            "this server has no GPU for libraries; use a server that has one");
}

nb::object Executor::perform(const protocol::UploadFile& operation) {
    uploads_.write_file(operation.blob, operation.path, workspace_);
    // The import system may have listed the folder before the file was there.
    nb::module_::import_("importlib").attr("invalidate_caches")();
    return make_str(operation.path);
}

nb::object Executor::perform(const protocol::GetFunction& operation) {
    const nb::object& module = handle(operation.module);
    nb::object name = make_str(operation.name);
    nb::object function = nb::steal(PyObject_GetAttr(module.ptr(), name.ptr()));
    if (function.is_valid()) return function;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    throw failure_from(take_exception(), ErrorKind::parse);
}

nb::object Executor::perform(const protocol::Run& operation) {
    const nb::object& function = handle(operation.function);
    if (!PyCallable_Check(function.ptr()))
        throw InstructionFailed(ErrorKind::runtime,
                                fmt::format("the handle is not callable: it is a {}",
                                            Py_TYPE(function.ptr())->tp_name));
    nb::object arguments =
        nb::steal(PyTuple_New(static_cast<Py_ssize_t>(operation.arguments.size())));
    if (!arguments.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < operation.arguments.size(); ++i) {
        const auto& argument = operation.arguments[i];
        const auto* reference = std::get_if<protocol::Reference>(&argument);
        nb::object value =
            reference ? handle(*reference) : to_python(std::get<protocol::Json>(argument));
        PyTuple_SET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());
    }
    nb::object result = nb::steal(PyObject_CallObject(function.ptr(), arguments.ptr()));
    if (!result.is_valid()) throw failure_from(take_exception(), Raised::in_call);
    return result;
}

nb::object Executor::perform(const protocol::ReturnValue& operation) {
    ValueText text;
    Payload payload(result_bytes_left_);
    encode_value(handle(operation.value), text, payload, result_bytes_left_);
    keep_result(std::move(text), std::move(payload));
    return {};
}

nb::object Executor::perform(const protocol::ReturnPath& operation) {
    std::string path;
    if (const auto* reference = std::get_if<protocol::Reference>(&operation.path)) {
        const nb::object& value = handle(*reference);
        if (!PyUnicode_Check(value.ptr()))
            throw InstructionFailed(ErrorKind::serialization,
                                    fmt::format("a path must be a string, and this is a {}",
                                                Py_TYPE(value.ptr())->tp_name));
        path = text_of(value).value_or("");
    } else {
        path = std::get<std::string>(operation.path);
    }
    auto normal = protocol::normalise_workspace_path(path);
    if (!normal) throw InstructionFailed(ErrorKind::serialization, normal.error().message);

    ValueText text;
    Payload payload(result_bytes_left_);
    if (operation.kind == protocol::PathKind::folder) {
        auto folder = without_gil([&] { return workspace_.read_folder(*normal, payload); });
        if (!folder) throw result_failure(folder.error());
        write_folder(*folder, text);
    } else {
        auto size = without_gil([&] { return workspace_.read_file(*normal, payload); });
        if (!size) throw result_failure(size.error());
        text.file(*size);
    }
    keep_result(std::move(text), std::move(payload));
    return {};
}

void Executor::keep_result(ValueText text, Payload payload) {
    result_bytes_left_ -= payload.size();
    auto file = std::move(payload).finish();
    if (!file) throw InstructionFailed(ErrorKind::engine, file.error().message);
    encoded_ = Encoded{std::move(text).take(), std::move(*file)};
}

}  // namespace kcoral::worker
