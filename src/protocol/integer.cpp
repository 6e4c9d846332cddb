// Decimal text in and out of Integer.
#include "protocol/integer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace kcoral::protocol {
namespace {

template <typename T>
std::optional<T> parse(std::string_view text) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_decimal(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    if (text.empty() || (text.front() == '0' && text.size() > 1)) return false;
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Integer> Integer::from_decimal(std::string_view text) {
    if (!is_decimal(text)) return std::nullopt;
    Integer integer;
    if (auto value = parse<std::int64_t>(text))
        integer.value_ = *value;
    else
        integer.digits_ = std::make_shared<const std::string>(text);
    return integer;
}

Integer Integer::from_unsigned(std::uint64_t value) {
    Integer integer;
    if (value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        integer.value_ = static_cast<std::int64_t>(value);
    else
        integer.digits_ = std::make_shared<const std::string>(std::to_string(value));
    return integer;
}

std::string Integer::decimal() const {
    return digits_ ? *digits_ : std::to_string(value_);
}

bool Integer::negative() const {
    return digits_ ? digits_->front() == '-' : value_ < 0;
}

std::optional<std::int64_t> Integer::to_int64() const {
    if (digits_) return std::nullopt;
    return value_;
}

std::optional<std::uint64_t> Integer::to_uint64() const {
    if (digits_) return parse<std::uint64_t>(*digits_);
    if (value_ < 0) return std::nullopt;
    return static_cast<std::uint64_t>(value_);
}

double Integer::to_double() const {
    if (!digits_) return static_cast<double>(value_);
    // Whatever has digits_ is large: out of range can only mean too large.
    if (auto value = parse<double>(*digits_)) return *value;
    double infinity = std::numeric_limits<double>::infinity();
    return negative() ? -infinity : infinity;
}

bool Integer::operator==(const Integer& other) const {
    if (!digits_ || !other.digits_) return !digits_ && !other.digits_ && value_ == other.value_;
    return *digits_ == *other.digits_;
}

}  // namespace kcoral::protocol
