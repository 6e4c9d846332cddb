// The rules for paths below a workspace: which are allowed, and their one normal form.
//
// A path is relative, with `/` between components, without NUL, backslash or `..`. The normal form
// has no empty and no `.` components.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace kcoral::protocol {

inline constexpr std::size_t max_path_component_bytes = 255;
inline constexpr std::size_t max_path_bytes = 4096;

// The normal form of a path that a program names; the top-level `.kcoral` is reserved.
// `bad_request` says which rule is broken: "'..' is not allowed".
Result<std::string> normalise_workspace_path(std::string_view path);

// Is this a normal form already? Names below a returned folder must be; `.kcoral` may be one there.
bool is_normal_path(std::string_view path);

}  // namespace kcoral::protocol
