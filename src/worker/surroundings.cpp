// Environment variables of a worker, and the generators of NumPy and torch.
#include "worker/surroundings.hpp"

#include "sandbox/worker_environment.hpp"
#include "sandbox/workspace_layout.hpp"
#include "worker/python.hpp"

#include <unistd.h>

#include <string>

namespace kcoral::worker {

namespace nb = nanobind;

Result<void> settle_in(const Workspace& workspace) {
    if (::fchdir(workspace.fd().get()) != 0)
        return errno_failure("entering the workspace " + workspace.path());
    TRY(sandbox::make_private_folders(workspace.fd()));
    nb::object environment = nb::module_::import_("os").attr("environ");
    for (const std::string& variable : sandbox::workspace_variables(workspace.path())) {
        std::size_t equals = variable.find('=');
        environment[make_str(variable.substr(0, equals))] = make_str(variable.substr(equals + 1));
    }
    return {};
}

void reseed_generators() {
    // Python's `random` reseeds itself after a fork.
    call_or_clear(imported_module("numpy.random"), "seed");
    nb::object torch = imported_module("torch");
    if (torch.is_valid()) call_or_clear(get_attribute(torch, "default_generator"), "seed");
}

}  // namespace kcoral::worker
