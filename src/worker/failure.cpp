// Exceptions of uploaded code: their kind, their sentence, their traceback.
#include "worker/failure.hpp"

#include "base/utf8.hpp"
#include "worker/compiler_errors.hpp"
#include "worker/python.hpp"

#include <algorithm>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;
using protocol::ErrorKind;

constexpr std::size_t traceback_limit = 8192;  // bytes, of the end
constexpr std::size_t message_limit = 8192;    // bytes, of the beginning

bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::string last_bytes(std::string text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t begin = text.size() - limit;
    while (begin < text.size() && continues_character(text[begin]))
        ++begin;
    return text.substr(begin);
}

std::string first_bytes(std::string text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t end = limit;
    while (end > 0 && continues_character(text[end]))
        --end;
    return text.substr(0, end) + "...";
}

std::string name_of_type(nb::handle exception) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr()));
    auto module = text_of(get_attribute(type, "__module__"));
    auto name = text_of(get_attribute(type, "__qualname__"));
    if (!name) return Py_TYPE(exception.ptr())->tp_name;
    if (!module || *module == "builtins" || *module == "__main__") return *name;
    return *module + "." + *name;
}

bool is_a(nb::handle exception, PyObject* type) {
    return PyErr_GivenExceptionMatches(exception.ptr(), type) != 0;
}

// A failed command's own words say more than its exit code.
std::string output_of_command(nb::handle exception) {
    if (!has_type(exception, "subprocess", "CalledProcessError")) return {};
    for (const char* stream : {"stderr", "output"}) {
        nb::object output = get_attribute(exception, stream);
        std::string text;
        if (output.is_valid() && PyBytes_Check(output.ptr()))
            text = to_utf8({PyBytes_AS_STRING(output.ptr()),
                            static_cast<std::size_t>(PyBytes_GET_SIZE(output.ptr()))});
        else
            text = text_of(output).value_or("");
        if (!text.empty()) return "\n" + last_bytes(std::move(text), message_limit / 2);
    }
    return {};
}

std::string traceback_of(nb::handle exception) {
    nb::object module = steal_or_clear(PyImport_ImportModule("traceback"));
    if (!module.is_valid()) return {};
    nb::object format = get_attribute(module, "format_exception");
    nb::object trace = steal_or_clear(PyException_GetTraceback(exception.ptr()));
    if (!format.is_valid()) return {};
    nb::object lines = steal_or_clear(PyObject_CallFunctionObjArgs(
        format.ptr(), reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr(),
        trace.is_valid() ? trace.ptr() : Py_None, nullptr));
    if (!lines.is_valid()) return {};
    nb::object nothing = steal_or_clear(PyUnicode_FromString(""));
    nb::object text = steal_or_clear(PyUnicode_Join(nothing.ptr(), lines.ptr()));
    return last_bytes(text_of(text).value_or(""), traceback_limit);
}

ErrorKind kind_of(nb::handle exception, Raised where, std::string_view message) {
    if (is_a(exception, PyExc_ModuleNotFoundError)) return ErrorKind::unavailable;
    if (where == Raised::in_module_body) return ErrorKind::parse;
    if (is_a(exception, PyExc_AssertionError) || has_type(exception, "kcoral", "CorrectnessError"))
        return ErrorKind::correctness;
    if (is_compiler_error(exception, message)) return ErrorKind::compile;
    return ErrorKind::runtime;
}

std::string words_of(nb::handle exception) {
    nb::object text = steal_or_clear(PyObject_Str(exception.ptr()));
    return text_of(text).value_or("<exception str() failed>");
}

std::string summary_of(nb::handle exception, const std::string& words) {
    std::string summary = name_of_type(exception);
    if (!words.empty()) summary += ": " + words;
    return first_bytes(std::move(summary), message_limit);
}

}  // namespace

nb::object take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
    return nb::steal(PyErr_GetRaisedException());
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return nb::steal(value);
#endif
}

std::string summary_of(nb::handle exception) {
    return summary_of(exception, words_of(exception));
}

InstructionFailed failure_from(nb::object exception, ErrorKind kind) {
    return InstructionFailed(kind, summary_of(exception), traceback_of(exception));
}

InstructionFailed failure_from(nb::object exception, Raised where) {
    std::string words = words_of(exception);
    ErrorKind kind = kind_of(exception, where, words);
    return InstructionFailed(kind, summary_of(exception, words) + output_of_command(exception),
                             traceback_of(exception));
}

}  // namespace kcoral::worker
