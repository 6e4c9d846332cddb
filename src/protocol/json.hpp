// Json: one JSON value in memory, its strict parser and its compact text.
//
// Strict means: UTF-8 without a byte order mark, exactly one value, no member twice in any object,
// no NaN, no number beyond the doubles, no lone surrogate, bounded nesting. Integers of any size
// are exact; a number written with a fraction or an exponent is the nearest double (exponents
// beyond 2147483647 are refused whatever their sign). Values own all they hold and move cheaply.
#pragma once

#include "base/error.hpp"
#include "protocol/integer.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kcoral::protocol {

class Json;
struct JsonMember;

using JsonArray = std::vector<Json>;

// Members in the order they were written. Names are unique: the parser sees to it, and whoever
// builds an object must.
class JsonObject {
  public:
    JsonObject();
    JsonObject(std::initializer_list<JsonMember> members);
    JsonObject(const JsonObject&);
    JsonObject(JsonObject&&) noexcept;
    JsonObject& operator=(const JsonObject&);
    JsonObject& operator=(JsonObject&&) noexcept;
    ~JsonObject();

    void add(std::string name, Json value);
    void reserve(std::size_t size);

    // Null when there is no such member. Linear: objects of interest are small.
    const Json* find(std::string_view name) const;
    Json* find(std::string_view name);

    std::size_t size() const;
    bool empty() const { return size() == 0; }
    const JsonMember* begin() const;
    const JsonMember* end() const;
    JsonMember* begin();
    JsonMember* end();

    bool operator==(const JsonObject& other) const;

  private:
    std::vector<JsonMember> members_;
};

class Json {
  public:
    enum class Kind { null, boolean, integer, number, string, array, object };

    Json() noexcept : value_(nullptr) {}
    Json(std::nullptr_t) noexcept : value_(nullptr) {}
    template <std::same_as<bool> T>
    Json(T value) : value_(value) {}
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    Json(T value) : value_(Integer(value)) {}
    Json(Integer value) : value_(std::move(value)) {}
    Json(double value) : value_(value) {}  // finite
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(JsonArray value) : value_(std::move(value)) {}
    Json(JsonObject value) : value_(std::move(value)) {}

    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    ~Json();

    Kind kind() const { return static_cast<Kind>(value_.index()); }

    // What it holds; null when it is of another kind.
    bool is_null() const { return kind() == Kind::null; }
    const bool* boolean() const { return std::get_if<bool>(&value_); }
    const Integer* integer() const { return std::get_if<Integer>(&value_); }
    const double* number() const { return std::get_if<double>(&value_); }
    const std::string* string() const { return std::get_if<std::string>(&value_); }
    const JsonArray* array() const { return std::get_if<JsonArray>(&value_); }
    const JsonObject* object() const { return std::get_if<JsonObject>(&value_); }
    std::string* string() { return std::get_if<std::string>(&value_); }
    JsonArray* array() { return std::get_if<JsonArray>(&value_); }
    JsonObject* object() { return std::get_if<JsonObject>(&value_); }

    bool operator==(const Json& other) const;

  private:
    // In the order of Kind.
    std::variant<std::nullptr_t, bool, Integer, double, std::string, JsonArray, JsonObject> value_;
};

struct JsonMember {
    std::string name;
    Json value;

    bool operator==(const JsonMember&) const = default;
};

// "null", "a boolean", "an integer", "a number", "a string", "an array", "an object": for messages.
std::string_view describe(Json::Kind kind);

struct JsonLimits {
    std::size_t depth = 512;                    // arrays and objects within each other
    std::size_t values = std::size_t{1} << 24;  // all of them together; each takes about 40 bytes
};

// `bad_request` says what is wrong and where: "line 3, column 14: expected ...".
Result<Json> parse_json(std::string_view text, JsonLimits limits = {});

// Compact text; parse_json reads the same value back. Strings must be UTF-8.
std::string to_text(const Json& value);

inline Json::Json(const Json&) = default;
inline Json::Json(Json&&) noexcept = default;
inline Json& Json::operator=(const Json&) = default;
inline Json& Json::operator=(Json&&) noexcept = default;
inline Json::~Json() = default;
inline bool Json::operator==(const Json& other) const = default;

inline JsonObject::JsonObject() = default;
inline JsonObject::JsonObject(std::initializer_list<JsonMember> members) : members_(members) {}
inline JsonObject::JsonObject(const JsonObject&) = default;
inline JsonObject::JsonObject(JsonObject&&) noexcept = default;
inline JsonObject& JsonObject::operator=(const JsonObject&) = default;
inline JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
inline JsonObject::~JsonObject() = default;
inline bool JsonObject::operator==(const JsonObject& other) const = default;

inline void JsonObject::add(std::string name, Json value) {
    members_.push_back({std::move(name), std::move(value)});
}
inline void JsonObject::reserve(std::size_t size) {
    members_.reserve(size);
}
inline std::size_t JsonObject::size() const {
    return members_.size();
}
inline const JsonMember* JsonObject::begin() const {
    return members_.data();
}
inline const JsonMember* JsonObject::end() const {
    return members_.data() + members_.size();
}
inline JsonMember* JsonObject::begin() {
    return members_.data();
}
inline JsonMember* JsonObject::end() {
    return members_.data() + members_.size();
}

}  // namespace kcoral::protocol
