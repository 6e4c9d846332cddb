// Python objects -> value trees. Arrays and tensors are in array_values.cpp.
#include "worker/values.hpp"

#include "protocol/value.hpp"
#include "worker/array_values.hpp"
#include "worker/failure.hpp"
#include "worker/integer_digits.hpp"
#include "worker/python.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;
using protocol::ErrorKind;

constexpr std::size_t depth_limit = protocol::max_value_depth;
// The server holds a value as a tree: numbers by the million belong into arrays.
constexpr std::size_t node_limit = 5'000'000;

class Encoder {
  public:
    Encoder(ValueText& text, Payload& payload, std::uint64_t limit)
        : text_(text), payload_(payload), limit_(limit) {}

    void encode(nb::handle object) {
        PyObject* raw = object.ptr();
        if (++nodes_ > node_limit)
            throw InstructionFailed(
                ErrorKind::response_too_large,
                fmt::format("the result has more than {} values; return arrays", node_limit));
        if (raw == Py_None)
            text_.null();
        else if (PyBool_Check(raw))
            text_.boolean(raw == Py_True);
        else if (PyLong_Check(raw))
            encode_integer(raw);
        else if (PyFloat_Check(raw))
            encode_number(PyFloat_AS_DOUBLE(raw));
        else if (PyUnicode_Check(raw))
            text_.string(utf8_of(raw));
        else if (PyBytes_Check(raw))
            encode_bytes({reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(raw)),
                          static_cast<std::size_t>(PyBytes_GET_SIZE(raw))});
        else if (PyByteArray_Check(raw) || PyMemoryView_Check(raw))
            encode_buffer(raw);
        else if (PyList_Check(raw) || PyTuple_Check(raw))
            encode_array(raw);
        else if (PyDict_Check(raw))
            encode_object(raw);
        else if (auto array = describe_array(object))
            encode_tensor(*array);
        else if (nb::object scalar = plain_scalar(object); scalar.is_valid())
            encode(scalar);
        else
            refuse(
                fmt::format("a {} cannot be returned; return None, booleans, numbers, strings, "
                            "bytes, lists, dicts, arrays or tensors",
                            Py_TYPE(raw)->tp_name));
        if (text_.size() > limit_)
            throw InstructionFailed(
                ErrorKind::response_too_large,
                fmt::format("the result's text passes the {} bytes that are left of the response's "
                            "limit; return less, or return arrays",
                            limit_));
    }

  private:
    // One container that is being written, for its place in messages.
    struct Level {
        PyObject* container;
        Py_ssize_t index;      // of the current child in an array
        const char* key = "";  // of the current child in an object
    };

    [[noreturn]] void refuse(const std::string& why) {
        throw InstructionFailed(ErrorKind::serialization, why + place());
    }

    // " (at value[3]['key'])", or nothing at the root.
    std::string place() const {
        if (levels_.empty()) return {};
        std::string path = " (at value";
        for (std::size_t i = 0; i < std::min<std::size_t>(levels_.size(), 16); ++i)
            path += *levels_[i].key ? fmt::format("['{}']", levels_[i].key)
                                    : fmt::format("[{}]", levels_[i].index);
        if (levels_.size() > 16) path += "...";
        return path + ")";
    }

    std::string_view utf8_of(PyObject* object) {
        Py_ssize_t size;
        const char* data = PyUnicode_AsUTF8AndSize(object, &size);
        if (!data) {
            PyErr_Clear();
            refuse("a string with a lone surrogate is not text");
        }
        return {data, static_cast<std::size_t>(size)};
    }

    void encode_integer(PyObject* object) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0)
            text_.integer(static_cast<std::int64_t>(value));
        else
            text_.integer(digits_of(object));
    }

    void encode_number(double value) {
        if (!std::isfinite(value)) refuse("NaN and infinities are no JSON numbers");
        text_.number(value);
    }

    void encode_bytes(ByteView bytes) {
        append(bytes);
        text_.bytes(bytes.size());
    }

    void append(ByteView bytes) {
        auto appended = payload_.append(bytes);
        if (appended) return;
        throw InstructionFailed(appended.error().code == ErrorCode::too_large
                                    ? ErrorKind::response_too_large
                                    : ErrorKind::engine,
                                appended.error().message);
    }

    void encode_buffer(PyObject* object) {
        nb::object copy = steal_or_clear(PyBytes_FromObject(object));
        if (!copy.is_valid()) refuse("the memory view has no bytes to read");
        encode_bytes({reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(copy.ptr())),
                      static_cast<std::size_t>(PyBytes_GET_SIZE(copy.ptr()))});
    }

    void enter(PyObject* container) {
        if (levels_.size() == depth_limit) {
            bool cycle = std::ranges::find(levels_, container, &Level::container) != levels_.end();
            refuse(cycle ? "the value contains itself"
                         : fmt::format("the value nests deeper than {} levels", depth_limit));
        }
        levels_.push_back({container, 0});
    }

    void encode_array(PyObject* sequence) {
        enter(sequence);
        text_.begin_array();
        // Encoding an array's item may run code that changes the list: the size is asked each time.
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
            nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(sequence, i));
            levels_.back().index = i;
            encode(item);
        }
        text_.end_array();
        levels_.pop_back();
    }

    void encode_object(PyObject* dict) {
        enter(dict);
        text_.begin_object();
        if (PyDict_CheckExact(dict)) {
            Py_ssize_t position = 0;
            PyObject *key, *value;
            while (PyDict_Next(dict, &position, &key, &value))
                encode_member(nb::borrow(key), nb::borrow(value));
        } else {
            encode_items(dict);
        }
        text_.end_object();
        levels_.pop_back();
    }

    // A subclass decides itself what its items are (OrderedDict: in what order).
    void encode_items(PyObject* mapping) {
        nb::object items = nb::steal(PyMapping_Items(mapping));
        if (!items.is_valid()) throw failure_from(take_exception(), ErrorKind::serialization);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
            PyObject* pair = PyList_GET_ITEM(items.ptr(), i);
            if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
                refuse("the dict's items are no pairs");
            encode_member(nb::borrow(PyTuple_GET_ITEM(pair, 0)),
                          nb::borrow(PyTuple_GET_ITEM(pair, 1)));
        }
    }

    void encode_member(nb::object key, nb::object value) {
        if (!PyUnicode_Check(key.ptr()))
            refuse(fmt::format("a dict's keys must be strings, and one is a {}",
                               Py_TYPE(key.ptr())->tp_name));
        std::string_view name = utf8_of(key.ptr());
        levels_.back().key = name.data();
        text_.key(name);
        encode(value);
    }

    void encode_tensor(const ArrayValue& array) {
        append(array.bytes());
        text_.tensor(array.dtype, array.shape, array.size);
    }

    ValueText& text_;
    Payload& payload_;
    std::uint64_t limit_;  // of the text, in bytes
    std::size_t nodes_ = 0;
    std::vector<Level> levels_;
};

}  // namespace

void encode_value(nb::handle object, ValueText& text, Payload& payload, std::uint64_t limit) {
    Encoder(text, payload, limit).encode(object);
}

}  // namespace kcoral::worker
