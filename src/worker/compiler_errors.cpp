// The table of compilers' exceptions: Triton, torch's extension builders and Inductor, NVRTC
// bindings, CuTe DSL, TVM, setuptools, and plain subprocesses of a compiler.
#include "worker/compiler_errors.hpp"

#include "worker/python.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

struct TypeName {
    std::string_view package;
    std::string_view name;
};
constexpr TypeName compiler_types[] = {
    {"kcoral", "CompileError"},
    {"triton", "CompilationError"},
    {"triton", "PTXASError"},
    {"triton", "MLIRError"},
    {"torch", "BackendCompilerFailed"},
    {"torch", "InductorError"},
    {"torch", "CppCompileError"},
    {"torch", "CUDACompileError"},
    {"cuda", "NVRTCError"},
    {"cupy", "CompileException"},
    {"cupy_backends", "NVRTCError"},
    {"numba", "TypingError"},
    {"numba", "LoweringError"},
    {"numba", "NvrtcError"},
    {"numba", "NvrtcCompilationError"},
    {"pycuda", "CompileError"},
    {"cutlass", "DSLRuntimeError"},
    {"cutlass", "DSLAstPreprocessorError"},
    {"cutlass", "DSLBaseError"},
    {"cutlass", "MLIRError"},
    {"tvm", "DiagnosticError"},
    {"distutils", "CompileError"},
    {"distutils", "LinkError"},
    {"setuptools", "CompileError"},
    {"setuptools", "LinkError"},
};

// How builders that raise a plain RuntimeError begin their message.
constexpr std::string_view builder_messages[] = {
    "Error building extension",   // torch.utils.cpp_extension
    "Kernel compilation failed",  // torch.cuda._compile_kernel
    "ninja exited with status",   // tvm_ffi.cpp
    "NVRTC_ERROR_COMPILATION",    // cuda.bindings by hand
};

constexpr std::string_view compiler_programs[] = {
    "nvcc", "ninja", "ptxas",   "cicc", "nvlink", "fatbinary", "gcc",   "g++",   "cc",
    "c++",  "clang", "clang++", "ld",   "make",   "cmake",     "hipcc", "rustc", "nvc++",
};

bool is_compiler_program(std::string_view word) {
    word.remove_prefix(std::min(word.rfind('/') + 1, word.size()));
    // g++-12, clang-19
    if (std::size_t dash = word.rfind('-');
        dash != std::string_view::npos &&
        word.find_first_not_of("0123456789.", dash + 1) == std::string_view::npos)
        word = word.substr(0, dash);
    return std::ranges::find(compiler_programs, word) != std::end(compiler_programs);
}

// A shell's command line: any word of it may be the compiler.
bool runs_compiler(std::string_view line) {
    constexpr std::string_view separators = " \t\n;&|()'\"";
    while (true) {
        std::size_t begin = line.find_first_not_of(separators);
        if (begin == std::string_view::npos) return false;
        line.remove_prefix(begin);
        std::size_t end = std::min(line.find_first_of(separators), line.size());
        if (is_compiler_program(line.substr(0, end))) return true;
        line.remove_prefix(end);
    }
}

// Of subprocess.CalledProcessError: a command line or a list of words.
bool command_is_compiler(nb::handle exception) {
    nb::object command = get_attribute(exception, "cmd");
    if (!command.is_valid()) return false;
    if (PyList_Check(command.ptr()) || PyTuple_Check(command.ptr())) {
        nb::object first = steal_or_clear(PySequence_GetItem(command.ptr(), 0));
        auto word = first.is_valid() ? text_of(first) : std::nullopt;
        return word && is_compiler_program(*word);
    }
    auto line = text_of(command);
    return line && runs_compiler(*line);
}

bool is_one_itself(nb::handle exception, std::string_view message) {
    for (const TypeName& type : compiler_types)
        if (has_type(exception, type.package, type.name)) return true;
    if (has_type(exception, "subprocess", "CalledProcessError"))
        return command_is_compiler(exception);
    return PyObject_TypeCheck(exception.ptr(),
                              reinterpret_cast<PyTypeObject*>(PyExc_RuntimeError)) &&
           std::ranges::any_of(builder_messages, [message](std::string_view start) {
               return message.starts_with(start);
           });
}

}  // namespace

bool has_type(nb::handle exception, std::string_view package, std::string_view name) {
    PyObject* bases = Py_TYPE(exception.ptr())->tp_mro;
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); ++i) {
        auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
        std::string_view own = type->tp_name;
        own.remove_prefix(std::min(own.rfind('.') + 1, own.size()));
        if (own != name) continue;
        auto module = text_of(get_attribute(reinterpret_cast<PyObject*>(type), "__module__"));
        if (module && (*module == package ||
                       (module->starts_with(package) && (*module)[package.size()] == '.')))
            return true;
    }
    return false;
}

bool is_compiler_error(nb::handle exception, std::string_view message) {
    if (is_one_itself(exception, message)) return true;
    nb::object cause = nb::borrow(exception);
    for (int depth = 0; depth < 8; ++depth) {
        cause = nb::steal(PyException_GetCause(cause.ptr()));
        if (!cause.is_valid() || !PyExceptionInstance_Check(cause.ptr())) return false;
        auto text = text_of(steal_or_clear(PyObject_Str(cause.ptr())));
        if (is_one_itself(cause, text ? *text : std::string_view())) return true;
    }
    return false;
}

}  // namespace kcoral::worker
