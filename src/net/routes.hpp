// Routes: the table of what a server answers, and the handler that looks it up.
#pragma once

#include "net/request.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kcoral::net {

struct Route {
    std::string method;
    std::string path;  // exact, from the first `/`; the query is no part of it
    Handler handler;
};

// The handler for a whole server: an unknown path is a 404, a known one with another method a 405
// with `Allow`, both worded by `error_body`. A GET route answers HEAD too. To check something
// before routing (a token, say), wrap the handler this returns.
Handler route(std::vector<Route> routes, ErrorBody error_body);

}  // namespace kcoral::net
