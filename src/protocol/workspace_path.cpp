// Paths, component by component.
#include "protocol/workspace_path.hpp"

#include "base/utf8.hpp"

#include <fmt/format.h>

namespace kcoral::protocol {
namespace {

// Calls `visit(component)` for what stands between slashes, empty or not, while it returns true.
template <typename Visit>
bool each_component(std::string_view path, Visit visit) {
    for (;;) {
        std::size_t slash = path.find('/');
        if (!visit(path.substr(0, slash))) return false;
        if (slash == std::string_view::npos) return true;
        path.remove_prefix(slash + 1);
    }
}

}  // namespace

Result<std::string> normalise_workspace_path(std::string_view path) {
    auto refuse = [](std::string message) {
        return failure(ErrorCode::bad_request, std::move(message));
    };
    if (path.empty()) return refuse("a path must not be empty");
    if (path.starts_with('/')) return refuse("a path must be relative, not begin with '/'");
    if (path.contains('\0')) return refuse("a path must not contain NUL");
    if (path.contains('\\')) return refuse("a path must use '/', not a backslash");
    if (!is_utf8(path)) return refuse("a path must be UTF-8");

    std::string normal;
    std::string fault;
    each_component(path, [&](std::string_view component) {
        if (component.empty() || component == ".") return true;
        if (component == "..")
            fault = "a path must not contain '..'";
        else if (component.size() > max_path_component_bytes)
            fault = fmt::format("a path component has at most {} bytes, one here has {}",
                                max_path_component_bytes, component.size());
        else if (normal.empty() && component == ".kcoral")
            fault = "the top-level '.kcoral' is reserved";
        if (!normal.empty()) normal += '/';
        normal += component;
        return fault.empty();
    });
    if (!fault.empty()) return refuse(std::move(fault));
    if (normal.size() > max_path_bytes)
        return refuse(fmt::format("a path has at most {} bytes, this one has {}", max_path_bytes,
                                  normal.size()));
    if (normal.empty()) return refuse("a path must name something below the workspace, not '.'");
    return normal;
}

bool is_normal_path(std::string_view path) {
    if (path.size() > max_path_bytes || path.contains('\0') || !is_utf8(path)) return false;
    return each_component(path, [](std::string_view component) {
        return !component.empty() && component != "." && component != ".." &&
               component.size() <= max_path_component_bytes;
    });
}

}  // namespace kcoral::protocol
