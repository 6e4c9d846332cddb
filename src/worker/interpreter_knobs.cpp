// The table of getters and setters.
#include "worker/interpreter_knobs.hpp"

#include "worker/python.hpp"

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

struct Pair {
    const char* module;
    const char* getter;
    const char* setter;
};
constexpr Pair pairs[] = {
    {"sys", "getrecursionlimit", "setrecursionlimit"},
    {"sys", "getswitchinterval", "setswitchinterval"},
    {"sys", "gettrace", "settrace"},
    {"sys", "getprofile", "setprofile"},
    {"sys", "get_int_max_str_digits", "set_int_max_str_digits"},
    {"gc", "get_threshold", "set_threshold"},
    {"gc", "get_debug", "set_debug"},
    {"torch", "get_default_dtype", "set_default_dtype"},
    {"torch", "get_default_device", "set_default_device"},
    {"torch", "get_num_threads", "set_num_threads"},
    {"torch", "is_grad_enabled", "set_grad_enabled"},
    {"torch", "are_deterministic_algorithms_enabled", "use_deterministic_algorithms"},
    {"torch", "get_float32_matmul_precision", "set_float32_matmul_precision"},
    {"torch._C", "_get_cudnn_enabled", "_set_cudnn_enabled"},
    {"torch._C", "_get_cudnn_benchmark", "_set_cudnn_benchmark"},
    {"torch._C", "_get_cudnn_deterministic", "_set_cudnn_deterministic"},
    {"torch._C", "_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32"},
    {"torch._C", "_get_cublas_allow_tf32", "_set_cublas_allow_tf32"},
};

nb::object get(nb::handle getter) {
    return nb::steal(PyObject_CallNoArgs(getter.ptr()));
}

// gc.set_threshold takes its three numbers apart.
void set(nb::handle setter, nb::handle value) {
    bool is_tuple = PyTuple_Check(value.ptr());
    nb::object done = nb::steal(is_tuple ? PyObject_CallObject(setter.ptr(), value.ptr())
                                         : PyObject_CallOneArg(setter.ptr(), value.ptr()));
    if (!done.is_valid()) throw nb::python_error();
}

}  // namespace

InterpreterKnobs InterpreterKnobs::take() {
    InterpreterKnobs knobs;
    for (const Pair& pair : pairs) {
        nb::object module = imported_module(pair.module);
        if (!module.is_valid()) continue;
        nb::object getter = get_attribute(module, pair.getter);
        nb::object setter = get_attribute(module, pair.setter);
        if (!getter.is_valid() || !setter.is_valid()) continue;
        nb::object value = steal_or_clear(PyObject_CallNoArgs(getter.ptr()));
        if (value.is_valid()) knobs.knobs_.push_back({getter, setter, value});
    }
    knobs.collecting_ = PyGC_IsEnabled();
    return knobs;
}

void InterpreterKnobs::restore() const {
    if (collecting_)
        PyGC_Enable();
    else
        PyGC_Disable();
    for (const Knob& knob : knobs_) {
        nb::object now = get(knob.getter);
        if (!now.is_valid()) throw nb::python_error();
        if (now.is(knob.value)) continue;
        int same = PyObject_RichCompareBool(now.ptr(), knob.value.ptr(), Py_EQ);
        if (same < 0) throw nb::python_error();
        if (same == 0) set(knob.setter, knob.value);
    }
}

}  // namespace kcoral::worker
