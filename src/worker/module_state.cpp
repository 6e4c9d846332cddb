// Copies of dicts, compared and put back where the interpreter says they changed.
#include "worker/module_state.hpp"

#include "worker/python.hpp"
#include "worker/surroundings.hpp"

#include <fmt/format.h>

#include <signal.h>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

nb::object copy_of_dict(nb::handle dict) {
    nb::object copy = nb::steal(PyDict_Copy(dict.ptr()));
    if (!copy.is_valid()) throw nb::python_error();
    return copy;
}

// Makes `dict` hold what `contents` holds, object for object.
void put_back(nb::handle dict, nb::handle contents) {
    std::vector<nb::object> added;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);)
        if (!PyDict_GetItemWithError(contents.ptr(), key)) added.push_back(nb::borrow(key));
    for (const nb::object& name : added)
        if (PyDict_DelItem(dict.ptr(), name.ptr()) != 0) PyErr_Clear();
    for (Py_ssize_t at = 0; PyDict_Next(contents.ptr(), &at, &key, &value);)
        if (PyDict_GetItemWithError(dict.ptr(), key) != value)
            if (PyDict_SetItem(dict.ptr(), key, value) != 0) throw nb::python_error();
}

// A module from a shared object outside the standard library: it cannot be unloaded, and many
// refuse to be loaded twice.
bool is_foreign_extension(nb::handle module) {
    nb::object spec = get_attribute(module, "__spec__");
    if (!spec.is_valid() || spec.is_none()) return false;
    auto origin = text_of(get_attribute(spec, "origin"));
    return origin && origin->ends_with(".so") && origin->find("/lib-dynload/") == std::string::npos;
}

// Signals that have a handler in Python's own table.
nb::object handlers_now() {
    nb::object signal = nb::module_::import_("_signal");
    nb::object get = signal.attr("getsignal");
    nb::dict handlers;
    for (int number = 1; number < NSIG; ++number) {
        nb::object key = nb::int_(number);
        nb::object handler = steal_or_clear(PyObject_CallOneArg(get.ptr(), key.ptr()));
        if (handler.is_valid()) handlers[key] = handler;
    }
    return handlers;
}

// Collections after each program need not walk through what stays for good.
void freeze_objects() {
    nb::module_::import_("gc").attr("freeze")();
}

}  // namespace

ModuleState ModuleState::take() {
    ModuleState state;
    PyObject* modules = PyImport_GetModuleDict();
    state.keep_dict(modules);
    PyObject *name, *module;
    for (Py_ssize_t at = 0; PyDict_Next(modules, &at, &name, &module);)
        if (PyModule_Check(module)) state.keep_dict(PyModule_GetDict(module));
    // What os.environ wraps; the C library's environment is restored apart from it.
    state.keep_dict(nb::module_::import_("os").attr("environ").attr("_data"));
    freeze_objects();
    return state;
}

void ModuleState::settle() {
    for (std::size_t number : changes_.changed()) {
        dicts_[number].contents = copy_of_dict(dicts_[number].dict);
        changes_.settle(number);
    }
    for (const char* attribute : {"path", "meta_path", "path_hooks", "argv", "warnoptions"})
        keep_list("sys", attribute);
    keep_list("warnings", "filters");
    keep_list("gc", "callbacks");
    handlers_ = handlers_now();
    knobs_ = InterpreterKnobs::take();
    freeze_objects();
}

void ModuleState::keep_dict(nb::handle dict) {
    dicts_.push_back({nb::borrow(dict), copy_of_dict(dict)});
    changes_.add(dict);
}

void ModuleState::keep_list(const char* module, const char* attribute) {
    nb::object found = imported_module(module);
    if (found.is_valid()) found = get_attribute(found, attribute);
    if (!found.is_valid() || !PyList_Check(found.ptr())) return;
    lists_.push_back({found, nb::steal(PySequence_List(found.ptr()))});
}

std::optional<std::string> ModuleState::loaded_for_good() const {
    nb::handle modules = dicts_.front().dict;
    PyObject *name, *module;
    for (Py_ssize_t at = 0; PyDict_Next(modules.ptr(), &at, &name, &module);)
        if (!PyDict_GetItemWithError(dicts_.front().contents.ptr(), name) &&
            is_foreign_extension(module))
            return fmt::format("the extension module {} cannot be unloaded",
                               text_of(name).value_or("?"));
    return std::nullopt;
}

void ModuleState::restore_dicts() {
    for (std::size_t number : changes_.changed()) {
        put_back(dicts_[number].dict, dicts_[number].contents);
        changes_.settle(number);
    }
}

void ModuleState::restore_lists() {
    for (const List& kept : lists_) {
        Py_ssize_t size = PyList_GET_SIZE(kept.list.ptr());
        if (PyList_SetSlice(kept.list.ptr(), 0, size, kept.contents.ptr()) != 0)
            throw nb::python_error();
    }
}

void ModuleState::restore_signals() {
    nb::object set = nb::module_::import_("_signal").attr("signal");
    nb::object now = handlers_now();
    for (auto [number, handler] : nb::cast<nb::dict>(handlers_))
        if (!nb::object(now[number]).is(handler) && !handler.is_none()) set(number, handler);
}

std::optional<std::string> ModuleState::restore() {
    if (auto why = loaded_for_good()) return why;
    restore_dicts();
    restore_lists();
    restore_signals();
    knobs_.restore();
    nb::module_::import_("linecache").attr("clearcache")();
    reseed_generators();
    return std::nullopt;
}

}  // namespace kcoral::worker
