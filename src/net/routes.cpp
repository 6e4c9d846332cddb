// Looking a request up in the route table.
#include "net/routes.hpp"

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace kcoral::net {

namespace {

class RouteTable {
  public:
    RouteTable(std::vector<Route> routes, ErrorBody error_body)
        : routes_(std::move(routes)), error_body_(std::move(error_body)) {}

    // Null when no route has this path and method.
    const Handler* find(const RequestHead& head) const {
        for (const Route& route : routes_)
            if (route.path == head.path && answers(route, head.method)) return &route.handler;
        return nullptr;
    }

    Response refuse(const RequestHead& head) const {
        std::vector<std::string> allowed;
        for (const Route& route : routes_) {
            if (route.path != head.path) continue;
            allow(allowed, route.method);
            if (route.method == "GET") allow(allowed, "HEAD");
        }
        if (allowed.empty()) return error_body_({404, "there is nothing at " + head.path, &head});
        std::string list;
        for (const std::string& method : allowed)
            list += (list.empty() ? "" : ", ") + method;
        Response response = error_body_(
            {405, head.path + " does not answer " + head.method + ", only " + list, &head});
        response.headers.set("Allow", list);
        return response;
    }

  private:
    static bool answers(const Route& route, const std::string& method) {
        return route.method == method || (route.method == "GET" && method == "HEAD");
    }
    static void allow(std::vector<std::string>& allowed, const std::string& method) {
        if (std::ranges::find(allowed, method) == allowed.end()) allowed.push_back(method);
    }

    std::vector<Route> routes_;
    ErrorBody error_body_;
};

boost::asio::awaitable<Response> refuse(std::shared_ptr<RouteTable> table, Request& request) {
    co_return table->refuse(request.head());
}

}  // namespace

Handler route(std::vector<Route> routes, ErrorBody error_body) {
    auto table = std::make_shared<RouteTable>(std::move(routes), std::move(error_body));
    return [table](Request& request) {
        auto* handler = table->find(request.head());
        return handler ? (*handler)(request) : refuse(table, request);
    };
}

}  // namespace kcoral::net
