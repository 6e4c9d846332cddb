// UUIDs: request ids and instance ids.
#pragma once

#include <string>
#include <string_view>

namespace kcoral {

// A random (version 4) UUID in canonical lowercase form.
std::string make_uuid();

// Is this the canonical lowercase form, 8-4-4-4-12 hexadecimal digits? Any version counts.
bool is_canonical_uuid(std::string_view text);

}  // namespace kcoral
