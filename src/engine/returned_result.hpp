// ReturnedResult: one return that ran, as the server keeps it until it is sent.
#pragma once

#include "base/fd.hpp"
#include "protocol/value.hpp"

#include <memory>
#include <string>

namespace kcoral::engine {

struct ReturnedResult {
    std::string key;
    protocol::Value value;
    // The sealed memory file in which the parts of `value` lie one after the other, in their order;
    // null when it has none.
    std::shared_ptr<const Fd> payload;
};

}  // namespace kcoral::engine
