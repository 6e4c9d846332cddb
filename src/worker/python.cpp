// Calls into Python whose failure is an absence.
#include "worker/python.hpp"

namespace kcoral::worker {

namespace nb = nanobind;

nb::object steal_or_clear(PyObject* reference) {
    if (!reference) PyErr_Clear();
    return nb::steal(reference);
}

nb::object get_attribute(nb::handle object, const char* name) {
    return steal_or_clear(PyObject_GetAttrString(object.ptr(), name));
}

void call_or_clear(nb::handle object, const char* method) {
    if (object.is_valid()) steal_or_clear(PyObject_CallMethod(object.ptr(), method, nullptr));
}

std::optional<std::string> text_of(nb::handle object) {
    if (!object.is_valid() || !PyUnicode_Check(object.ptr())) return std::nullopt;
    nb::object bytes =
        steal_or_clear(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) return std::nullopt;
    return std::string(PyBytes_AS_STRING(bytes.ptr()),
                       static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

nb::object make_str(std::string_view text) {
    nb::object object = nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!object.is_valid()) throw nb::python_error();
    return object;
}

nb::object imported_module(const char* name) {
    nb::object key = steal_or_clear(PyUnicode_FromString(name));
    nb::object module = steal_or_clear(PyImport_GetModule(key.ptr()));
    if (module.is_valid() && !PyModule_Check(module.ptr())) return {};
    return module;
}

}  // namespace kcoral::worker
