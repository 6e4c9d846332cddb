// kcoral._core: the extension module, as kcoral/_worker.py uses it.
#include "worker/zygote.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace kcoral::worker {
namespace {

namespace nb = nanobind;

using Preloads = std::vector<std::tuple<std::string, double, std::string>>;

void serve(int channel, bool sandboxed, std::string workspaces, const Preloads& preloads,
           std::map<std::string, std::string> versions, const std::string& limits) {
    auto seat_limits = sandbox::parse_limits(limits);
    if (!seat_limits) throw std::invalid_argument(seat_limits.error().message);
    ZygoteReady ready;
    ready.python = Py_GetVersion();
    ready.python.resize(std::min(ready.python.find(' '), ready.python.size()));
    ready.versions = std::move(versions);
    for (const auto& [module, milliseconds, error] : preloads)
        ready.preloads.push_back({module, milliseconds, error});
    ZygoteOptions options{sandboxed, std::move(workspaces), *seat_limits};
    if (auto served = serve_zygote(Channel(Fd(channel)), options, std::move(ready)); !served)
        throw std::runtime_error(served.error().message);
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "The zygote's loop and the worker's executor.";
    module.def("serve", &serve, nb::arg("channel"), nb::arg("sandboxed"), nb::arg("workspaces"),
               nb::arg("preloads"), nb::arg("versions"), nb::arg("limits"),
               "Forks workers as the server asks for them; returns when it closes the channel.");
}

}  // namespace kcoral::worker
