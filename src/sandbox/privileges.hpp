// Giving up privileges: capabilities, users, user namespaces. All of it concerns the calling
// thread.
#pragma once

#include "base/error.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace kcoral::sandbox {

// User ids that belong to nobody, `count` of them from `first`, for seats to run under.
struct UserRange {
    uid_t first = 0;
    uid_t count = 0;

    bool operator==(const UserRange&) const = default;
};

// The range that a root whose `uid_map` (as in /proc/self/uid_map) this is can use; none where it
// can become no other user.
std::optional<UserRange> seat_users(std::string_view uid_map);

// Becomes that user and group, with no supplementary groups and an empty bounding set.
Result<void> become_user(uid_t user);

// Enters a new user namespace in which the caller keeps its user and group ids. Resource counts,
// of processes above all, start from zero there.
Result<void> enter_user_namespace();

// Whether the kernel counts processes by user namespace (5.14 and later).
bool counts_processes_by_namespace();

// Empties every capability set, the bounding set too, and forbids that exec(2) ever gives any back
// (no_new_privs).
Result<void> drop_capabilities();

// Whether the process has CAP_SYS_ADMIN in its user namespace.
bool has_admin_capability();

}  // namespace kcoral::sandbox
