// Making a module from text, step by step as the import system would.
#include "worker/modules.hpp"

#include "worker/failure.hpp"
#include "worker/python.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;
using protocol::ErrorKind;

// Counts over the life of the worker: a name never means two modules, not even to a cache that
// outlives a program.
std::string next_module_name() {
    static unsigned serial = 0;
    return fmt::format("kcoral_uploaded_{}", ++serial);
}

std::string file_name(std::string_view id) {
    std::string shown(id);
    std::ranges::replace_if(
        shown, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; },
        '?');
    return fmt::format("<uploaded:{}>", shown);
}

// Lines as the compiler counts them: ended by LF, CR or CRLF, each kept as LF.
nb::list lines_of(std::string_view source) {
    nb::list lines;
    while (!source.empty()) {
        std::size_t end = std::min(source.find_first_of("\r\n"), source.size());
        std::string line(source.substr(0, end));
        source.remove_prefix(end);
        if (source.starts_with("\r\n")) source.remove_prefix(1);
        if (!source.empty()) source.remove_prefix(1);
        lines.append(make_str(line + "\n"));
    }
    return lines;
}

// Source lines for tracebacks and inspect. An entry without a time is never checked against a file.
void remember_source(const std::string& file, std::string_view source) {
    nb::object cache = nb::module_::import_("linecache").attr("cache");
    cache[make_str(file)] =
        nb::make_tuple(source.size(), nb::none(), lines_of(source), make_str(file));
}

nb::object make_module(const std::string& name, const std::string& file) {
    nb::object module = nb::steal(PyModule_New(name.c_str()));
    if (!module.is_valid()) throw nb::python_error();
    nb::object spec =
        nb::module_::import_("importlib.machinery")
            .attr("ModuleSpec")(name.c_str(), nb::none(), nb::arg("origin") = file.c_str());
    nb::setattr(module, "__file__", nb::str(file.c_str()));
    nb::setattr(module, "__spec__", spec);
    nb::setattr(module, "__package__", nb::str(""));
    nb::setattr(module, "__builtins__", nb::borrow(PyEval_GetBuiltins()));
    return module;
}

nb::object compile(std::string_view source, const std::string& file) {
    if (source.find('\0') != std::string_view::npos)
        throw InstructionFailed(ErrorKind::parse,
                                "SyntaxError: source code cannot contain null bytes");
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    flags.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE;
    std::string terminated(source);
    nb::object name = make_str(file);
    nb::object code = nb::steal(
        Py_CompileStringObject(terminated.c_str(), name.ptr(), Py_file_input, &flags, -1));
    if (!code.is_valid()) throw failure_from(take_exception(), Raised::in_module_body);
    return code;
}

}  // namespace

nb::object UploadedModules::upload(std::string_view id, std::string_view source) {
    std::string name = next_module_name();
    std::string file = file_name(id);
    files_.push_back(file);
    remember_source(file, source);
    nb::object code = compile(source, file);
    nb::object module = make_module(name, file);

    PyObject* modules = PyImport_GetModuleDict();
    nb::object key = make_str(name);
    names_.push_back(name);
    if (PyObject_SetItem(modules, key.ptr(), module.ptr()) != 0) throw nb::python_error();
    nb::object dict = module.attr("__dict__");
    nb::object result = nb::steal(PyEval_EvalCode(code.ptr(), dict.ptr(), dict.ptr()));
    if (!result.is_valid()) throw failure_from(take_exception(), Raised::in_module_body);
    // A module may put another object in its place, as it may when it is imported.
    nb::object placed = steal_or_clear(PyObject_GetItem(modules, key.ptr()));
    return placed.is_valid() ? placed : module;
}

UploadedModules::~UploadedModules() {
    PyObject* modules = PyImport_GetModuleDict();
    for (const std::string& name : names_)
        if (PyMapping_DelItemString(modules, name.c_str()) != 0) PyErr_Clear();
    nb::object linecache = imported_module("linecache");
    nb::object cache = linecache.is_valid() ? get_attribute(linecache, "cache") : nb::object();
    for (const std::string& file : files_)
        if (cache.is_valid() && PyMapping_DelItemString(cache.ptr(), file.c_str()) != 0)
            PyErr_Clear();
}

}  // namespace kcoral::worker
