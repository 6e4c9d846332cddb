// Environment variables of a worker, and the generators of NumPy and torch.
#include "worker/surroundings.hpp"

#include "sandbox/worker_environment.hpp"
#include "sandbox/workspace_layout.hpp"
#include "worker/python.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace kcoral::worker {

namespace nb = nanobind;

Result<void> come_back(const Workspace& workspace) {
    if (::fchdir(workspace.fd().get()) != 0)
        return errno_failure("entering the workspace " + workspace.path());
    return sandbox::make_private_folders(workspace.fd());
}

Result<void> settle_in(const Workspace& workspace) {
    TRY(come_back(workspace));
    nb::object environment = nb::module_::import_("os").attr("environ");
    for (const std::string& variable : sandbox::workspace_variables(workspace.path())) {
        std::size_t equals = variable.find('=');
        std::string name = variable.substr(0, equals), value = variable.substr(equals + 1);
        // In the sandbox all are set already: what is not written is not copied after the fork.
        const char* now = std::getenv(name.c_str());
        if (now && now == value) continue;
        environment[make_str(name)] = make_str(value);
    }
    return {};
}

void reseed_generators() {
    call_or_clear(imported_module("random"), "seed");
    // NumPy's own way to a seed takes longer than a small program.
    std::uint32_t seed = 0;
    nb::object numpy = imported_module("numpy.random");
    if (numpy.is_valid() && ::getrandom(&seed, sizeof seed, 0) == sizeof seed)
        steal_or_clear(PyObject_CallMethod(numpy.ptr(), "seed", "I", seed));
    nb::object torch = imported_module("torch");
    if (torch.is_valid()) call_or_clear(get_attribute(torch, "default_generator"), "seed");
}

}  // namespace kcoral::worker
