// The interpreter's limit guards servers from quadratic conversions; a program's time is limited by
// its deadline, so here the limit is lifted for the one conversion.
#include "worker/integer_digits.hpp"

#include "worker/failure.hpp"
#include "worker/python.hpp"

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

// Interpreters without the limit have no such functions: nothing to lift.
class LimitLifted {
  public:
    LimitLifted() {
        PyObject* get = PySys_GetObject("get_int_max_str_digits");
        if (!get) return;
        before_ = steal_or_clear(PyObject_CallNoArgs(get));
        nb::object none = nb::steal(PyLong_FromLong(0));
        set(none);
    }
    LimitLifted(const LimitLifted&) = delete;
    ~LimitLifted() { set(before_); }

  private:
    static void set(const nb::object& limit) {
        PyObject* function = PySys_GetObject("set_int_max_str_digits");
        if (function && limit.is_valid())
            steal_or_clear(PyObject_CallFunctionObjArgs(function, limit.ptr(), nullptr));
    }
    nb::object before_;
};

}  // namespace

std::string digits_of(nb::handle integer) {
    LimitLifted lifted;
    nb::object digits = nb::steal(PyNumber_ToBase(integer.ptr(), 10));
    if (!digits.is_valid())
        throw failure_from(take_exception(), protocol::ErrorKind::serialization);
    return text_of(digits).value();
}

nb::object integer_from(std::string_view digits) {
    LimitLifted lifted;
    nb::object integer = nb::steal(PyLong_FromString(std::string(digits).c_str(), nullptr, 10));
    if (!integer.is_valid()) throw nb::python_error();
    return integer;
}

}  // namespace kcoral::worker
