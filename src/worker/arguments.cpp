// One constructor for each kind of JSON value.
#include "worker/arguments.hpp"

#include "worker/integer_digits.hpp"
#include "worker/python.hpp"

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

nb::object made(PyObject* reference) {
    if (!reference) throw nb::python_error();
    return nb::steal(reference);
}

nb::object convert(const protocol::Integer& value) {
    if (auto small = value.to_int64()) return made(PyLong_FromLongLong(*small));
    return integer_from(value.decimal());
}

nb::object convert(const protocol::JsonArray& array) {
    nb::object list = made(PyList_New(static_cast<Py_ssize_t>(array.size())));
    for (std::size_t i = 0; i < array.size(); ++i)
        PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i),
                        to_python(array[i]).release().ptr());
    return list;
}

nb::object convert(const protocol::JsonObject& object) {
    nb::object dict = made(PyDict_New());
    for (const auto& [key, value] : object) {
        nb::object name = make_str(key);
        if (PyDict_SetItem(dict.ptr(), name.ptr(), to_python(value).ptr()) != 0)
            throw nb::python_error();
    }
    return dict;
}

}  // namespace

nb::object to_python(const protocol::Json& json) {
    using Kind = protocol::Json::Kind;
    switch (json.kind()) {
        case Kind::boolean:
            return nb::borrow(*json.boolean() ? Py_True : Py_False);
        case Kind::integer:
            return convert(*json.integer());
        case Kind::number:
            return made(PyFloat_FromDouble(*json.number()));
        case Kind::string:
            return make_str(*json.string());
        case Kind::array:
            return convert(*json.array());
        case Kind::object:
            return convert(*json.object());
        case Kind::null:
            break;
    }
    return nb::none();
}

}  // namespace kcoral::worker
