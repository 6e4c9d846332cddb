// JsonWriter: compact JSON text, written from left to right, for documents that need no tree.
//
// Commas and colons are its business, matching begin and end, one key before each member, the
// caller's. Strings and keys must be UTF-8. Doubles are written as the shortest text that reads
// back the same, always recognisable as no integer.
#pragma once

#include "protocol/integer.hpp"
#include "protocol/json.hpp"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace kcoral::protocol {

class JsonWriter {
  public:
    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_array();
    JsonWriter& end_array();
    JsonWriter& key(std::string_view name);

    JsonWriter& null();
    JsonWriter& boolean(bool value);
    JsonWriter& integer(const Integer& value);
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    JsonWriter& integer(T value) {
        return digits(value);
    }
    // Throws std::invalid_argument when it is not finite: JSON has no word for it.
    JsonWriter& number(double value);
    JsonWriter& string(std::string_view value);
    JsonWriter& json(const Json& value);
    // Text that is one JSON value already.
    JsonWriter& raw(std::string_view json_text);

    std::size_t size() const { return text_.size(); }
    std::string take() && { return std::move(text_); }

  private:
    JsonWriter& digits(std::int64_t value);
    JsonWriter& digits(std::uint64_t value);
    template <std::integral T>
    JsonWriter& digits(T value) {
        if constexpr (std::signed_integral<T>)
            return digits(std::int64_t{value});
        else
            return digits(std::uint64_t{value});
    }
    void separate();
    void put_string(std::string_view value);

    std::string text_;
    bool first_ = true;  // nothing precedes the next item in its container
};

}  // namespace kcoral::protocol
