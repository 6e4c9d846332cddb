// InterpreterKnobs: settings of the interpreter and of torch that live behind functions, not in
// attributes: recursion limit, garbage collection, torch's default dtype, threads, and their like.
//
// Only modules that are imported already count. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

namespace kcoral::worker {

class InterpreterKnobs {
  public:
    static InterpreterKnobs take();

    // Sets what differs. Throws nanobind::python_error when a setter refuses.
    void restore() const;

  private:
    struct Knob {
        nanobind::object getter;
        nanobind::object setter;
        nanobind::object value;
    };
    std::vector<Knob> knobs_;
    bool collecting_ = true;  // garbage collection is on
};

}  // namespace kcoral::worker
