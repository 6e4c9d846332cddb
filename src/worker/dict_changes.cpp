// Both ways of the interpreter to tell that a dict changed.
#include "worker/dict_changes.hpp"

#include <unordered_set>

namespace kcoral::worker {
namespace {

#if PY_VERSION_HEX >= 0x030C0000

std::unordered_set<PyObject*>& modified() {
    static std::unordered_set<PyObject*> dicts;
    return dicts;
}

int note(PyDict_WatchEvent, PyObject* dict, PyObject*, PyObject*) {
    modified().insert(dict);
    return 0;
}

void watch(PyObject* dict) {
    static int watcher = PyDict_AddWatcher(&note);
    if (watcher < 0 || PyDict_Watch(watcher, dict) != 0) throw nanobind::python_error();
}

std::uint64_t version_of(PyObject* dict) {
    return modified().contains(dict) ? 1 : 0;
}

void forget(PyObject* dict) {
    modified().erase(dict);
}

#else

void watch(PyObject*) {}

std::uint64_t version_of(PyObject* dict) {
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}

void forget(PyObject*) {}

#endif

}  // namespace

void DictChanges::add(nanobind::handle dict) {
    watch(dict.ptr());
    watched_.push_back({dict.ptr(), version_of(dict.ptr())});
}

std::vector<std::size_t> DictChanges::changed() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < watched_.size(); ++i)
        if (version_of(watched_[i].dict) != watched_[i].version) numbers.push_back(i);
    return numbers;
}

void DictChanges::settle(std::size_t number) {
    Watched& watched = watched_[number];
    forget(watched.dict);
    watched.version = version_of(watched.dict);
}

}  // namespace kcoral::worker
