// Fields by name and kind.
#include "protocol/json_fields.hpp"

#include "protocol/quote.hpp"

#include <fmt/format.h>

#include <utility>

namespace kcoral::protocol {

Failure failure_at(const JsonPath& path, ErrorCode code, std::string_view message) {
    return failure(code, fmt::format("{}: {}", path.text(), message));
}

Failure unexpected_kind(const JsonPath& path, ErrorCode code, std::string_view expected,
                        const Json& got) {
    return failure_at(path, code,
                      fmt::format("expected {}, got {}", expected, describe(got.kind())));
}

Result<JsonFields> JsonFields::open(Json json, const JsonPath& path, ErrorCode code) {
    JsonObject* object = json.object();
    if (!object) return unexpected_kind(path, code, "an object", json);
    return JsonFields(std::move(*object), path, code);
}

Result<Json> JsonFields::any(std::string_view name) {
    Json* value = object_.find(name);
    if (!value) return failure_at(*path_, code_, fmt::format("the field \"{}\" is missing", name));
    // The member that holds the value, by its place.
    std::size_t index = 0;
    for (const JsonMember& member : object_) {
        if (&member.value == value) break;
        ++index;
    }
    if (index < 64) taken_ |= std::uint64_t{1} << index;
    return std::move(*value);
}

template <typename T>
Result<T> JsonFields::take(std::string_view name, T* (Json::*as)(), Json::Kind expected) {
    TRY_ASSIGN(Json value, any(name));
    T* held = (value.*as)();
    if (!held) return unexpected_kind(path_->child(name), code_, describe(expected), value);
    return std::move(*held);
}

Result<bool> JsonFields::boolean(std::string_view name) {
    TRY_ASSIGN(Json value, any(name));
    if (!value.boolean()) return unexpected_kind(path_->child(name), code_, "a boolean", value);
    return *value.boolean();
}

Result<Integer> JsonFields::integer(std::string_view name) {
    TRY_ASSIGN(Json value, any(name));
    if (!value.integer()) return unexpected_kind(path_->child(name), code_, "an integer", value);
    return *value.integer();
}

Result<double> JsonFields::number(std::string_view name) {
    TRY_ASSIGN(Json value, any(name));
    if (value.number()) return *value.number();
    if (value.integer()) return value.integer()->to_double();
    return unexpected_kind(path_->child(name), code_, "a number", value);
}

Result<std::string> JsonFields::string(std::string_view name) {
    return take<std::string>(name, &Json::string, Json::Kind::string);
}

Result<std::string> JsonFields::non_empty_string(std::string_view name) {
    TRY_ASSIGN(std::string value, string(name));
    if (value.empty()) return fail(name, "expected a string that is not empty");
    return value;
}

Result<JsonArray> JsonFields::array(std::string_view name) {
    return take<JsonArray>(name, &Json::array, Json::Kind::array);
}

Result<JsonObject> JsonFields::object(std::string_view name) {
    return take<JsonObject>(name, &Json::object, Json::Kind::object);
}

Result<void> JsonFields::done() const {
    std::size_t index = 0;
    for (const JsonMember& member : object_) {
        if (index >= 64 || !(taken_ >> index & 1))
            return failure_at(*path_, code_, fmt::format("unknown field {}", quote(member.name)));
        ++index;
    }
    return {};
}

Failure JsonFields::fail(std::string_view name, std::string_view message) const {
    return failure_at(path_->child(name), code_, message);
}

}  // namespace kcoral::protocol
