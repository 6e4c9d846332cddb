// ModuleState: the interpreter's modules as they were before a program, and the way back.
//
// Modules that a program added are taken out, those it removed or replaced come back, and so do the
// attributes of modules. Also the lists that steer imports and warnings, the caches of sources,
// Python's view of the environment and of signals, and the generators get new seeds. Contents of
// other objects and attributes of classes are not seen. Needs the GIL.
#pragma once

#include "worker/dict_changes.hpp"
#include "worker/interpreter_knobs.hpp"

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

namespace kcoral::worker {

class ModuleState {
  public:
    // In the zygote, so that the copies are made once for all workers.
    static ModuleState take();

    // In a worker, before its first program: what has changed since belongs to the state too.
    void settle();

    // Nothing when all is as it was; otherwise why the interpreter must not serve again. Throws
    // nanobind::python_error when what it needs has been broken.
    std::optional<std::string> restore();

  private:
    struct Dict {
        nanobind::object dict;
        nanobind::object contents;  // a copy
    };
    struct List {
        nanobind::object list;
        nanobind::object contents;  // a copy
    };

    void keep_dict(nanobind::handle dict);
    void keep_list(const char* module, const char* attribute);
    std::optional<std::string> loaded_for_good() const;
    void restore_dicts();
    void restore_lists();
    void restore_signals();

    InterpreterKnobs knobs_;
    DictChanges changes_;
    std::vector<Dict> dicts_;  // sys.modules first; numbered as in changes_
    std::vector<List> lists_;
    nanobind::object handlers_;  // signal number -> handler
};

}  // namespace kcoral::worker
