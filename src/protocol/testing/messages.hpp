// What tests compare of a Result: the value, or the error's sentence.
#pragma once

#include "base/error.hpp"

#include <string>
#include <utility>

namespace kcoral::protocol::testing {

template <typename T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

inline std::string repeat(std::string_view text, std::size_t times) {
    std::string repeated;
    repeated.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i)
        repeated += text;
    return repeated;
}

}  // namespace kcoral::protocol::testing
