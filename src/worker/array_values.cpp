// Reading arrays through the methods they have in Python.
#include "worker/array_values.hpp"

#include "worker/failure.hpp"
#include "worker/python.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;
using protocol::ErrorKind;

protocol::Dtype dtype_named(std::string_view name) {
    if (auto dtype = protocol::dtype_from(name)) return *dtype;
    throw InstructionFailed(
        ErrorKind::serialization,
        fmt::format("arrays of dtype {} cannot be returned; convert to bool, uint8, int8, int16, "
                    "int32, int64, float16, bfloat16, float32, float64 or an 8-bit float",
                    name));
}

// What a library raises about its own object is no fault of the program's logic, nor of ours.
template <typename Action>
auto reading(Action action) {
    try {
        return action();
    } catch (nb::python_error& error) {
        error.restore();
        throw failure_from(take_exception(), ErrorKind::serialization);
    } catch (const nb::cast_error&) {
        throw InstructionFailed(ErrorKind::serialization, "the array does not describe itself");
    }
}

bool is_instance(nb::handle object, const char* module, const char* type) {
    nb::object package = imported_module(module);
    if (!package.is_valid()) return false;
    nb::object expected = get_attribute(package, type);
    if (!expected.is_valid() || !PyType_Check(expected.ptr())) return false;
    return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(expected.ptr()));
}

std::vector<std::int64_t> shape_of(nb::handle array) {
    std::vector<std::int64_t> shape;
    for (nb::handle extent : array.attr("shape"))
        shape.push_back(nb::cast<std::int64_t>(extent));
    return shape;
}

ArrayValue describe_numpy(nb::handle object) {
    nb::object dtype = object.attr("dtype");
    nb::object little = dtype.attr("newbyteorder")("<");
    ArrayValue value;
    value.dtype = dtype_named(nb::cast<std::string>(little.attr("name")));
    value.shape = shape_of(object);
    nb::object plain = imported_module("numpy").attr("ascontiguousarray")(object, little);
    nb::object flat = plain.attr("reshape")(-1).attr("view")("uint8");
    Py_buffer buffer;
    if (PyObject_GetBuffer(flat.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    value.data = static_cast<const std::byte*>(buffer.buf);
    value.size = static_cast<std::size_t>(buffer.len);
    PyBuffer_Release(&buffer);  // the array itself keeps the bytes where they are
    value.owner = std::move(flat);
    return value;
}

std::string text_of(const nb::object& object) {
    nb::object text = nb::steal(PyObject_Str(object.ptr()));
    if (!text.is_valid()) throw nb::python_error();
    return nb::cast<std::string>(text);
}

ArrayValue describe_torch(nb::handle object) {
    ArrayValue value;
    std::string dtype = text_of(object.attr("dtype"));
    value.dtype = dtype_named(dtype.substr(dtype.rfind('.') + 1));
    nb::object tensor = object.attr("detach")();
    if (text_of(tensor.attr("layout")) != "torch.strided")
        throw InstructionFailed(ErrorKind::serialization,
                                "only dense tensors can be returned; call .to_dense() first");
    tensor = tensor.attr("cpu")().attr("resolve_conj")().attr("resolve_neg")();
    tensor = tensor.attr("contiguous")();
    value.shape = shape_of(tensor);
    value.size = nb::cast<std::size_t>(tensor.attr("numel")()) *
                 nb::cast<std::size_t>(tensor.attr("element_size")());
    value.data =
        reinterpret_cast<const std::byte*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
    if (!value.data && value.size > 0)
        throw InstructionFailed(ErrorKind::serialization, "the tensor has no data");
    value.owner = std::move(tensor);
    return value;
}

}  // namespace

std::optional<ArrayValue> describe_array(nb::handle object) {
    return reading([object]() -> std::optional<ArrayValue> {
        if (is_instance(object, "numpy", "ndarray")) return describe_numpy(object);
        if (is_instance(object, "torch", "Tensor")) return describe_torch(object);
        return std::nullopt;
    });
}

nb::object plain_scalar(nb::handle object) {
    if (!is_instance(object, "numpy", "generic")) return {};
    return reading([object]() -> nb::object {
        if (is_instance(object, "numpy", "bool_"))
            return nb::steal(PyBool_FromLong(PyObject_IsTrue(object.ptr()) == 1));
        if (is_instance(object, "numpy", "integer")) {
            nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
            if (!integer.is_valid()) throw nb::python_error();
            return integer;
        }
        // The small floats of ml_dtypes are scalars, but no numpy.floating.
        std::string dtype = nb::cast<std::string>(object.attr("dtype").attr("name"));
        if (!dtype.starts_with("float") && dtype != "bfloat16") return {};
        nb::object number = nb::steal(PyNumber_Float(object.ptr()));
        if (!number.is_valid()) throw nb::python_error();
        return number;
    });
}

}  // namespace kcoral::worker
