// DictChanges: which of many dicts have been modified, without looking into them.
//
// Uses the interpreter's own bookkeeping: dict watchers from Python 3.12 on, version tags before.
// Needs the GIL. The dicts must outlive it; one instance a process.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace kcoral::worker {

class DictChanges {
  public:
    // Watches a dict from now on; `dicts` are numbered in the order they are added.
    void add(nanobind::handle dict);
    // The numbers of those modified since they were added or last settled.
    std::vector<std::size_t> changed() const;
    // What the dict holds now is its settled state.
    void settle(std::size_t number);

  private:
    struct Watched {
        PyObject* dict;
        std::uint64_t version;
    };
    std::vector<Watched> watched_;
};

}  // namespace kcoral::worker
