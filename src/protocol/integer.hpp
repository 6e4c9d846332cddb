// Integer: a whole number of any size, kept exact.
//
// What fits 64 bits is held as such; a larger one as its decimal text, which copies share.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kcoral::protocol {

class Integer {
  public:
    Integer() = default;
    template <std::signed_integral T>
    Integer(T value) : value_(value) {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    Integer(T value) : Integer(from_unsigned(value)) {}

    // `-?(0|[1-9][0-9]*)`, as JSON writes integers; nothing for any other text. "-0" is zero.
    static std::optional<Integer> from_decimal(std::string_view text);

    std::string decimal() const;
    bool negative() const;
    // Nothing when the type cannot hold it.
    std::optional<std::int64_t> to_int64() const;
    std::optional<std::uint64_t> to_uint64() const;
    // The nearest double; infinite when it is beyond all of them.
    double to_double() const;

    bool operator==(const Integer& other) const;

  private:
    static Integer from_unsigned(std::uint64_t value);

    std::int64_t value_ = 0;
    std::shared_ptr<const std::string> digits_;  // of what does not fit value_
};

}  // namespace kcoral::protocol
