// Look-ups and descriptions of Json.
#include "protocol/json.hpp"

#include "protocol/json_writer.hpp"

#include <algorithm>

namespace kcoral::protocol {

const Json* JsonObject::find(std::string_view name) const {
    auto found = std::ranges::find(members_, name, &JsonMember::name);
    return found == members_.end() ? nullptr : &found->value;
}

Json* JsonObject::find(std::string_view name) {
    auto found = std::ranges::find(members_, name, &JsonMember::name);
    return found == members_.end() ? nullptr : &found->value;
}

std::string_view describe(Json::Kind kind) {
    switch (kind) {
        case Json::Kind::null:
            return "null";
        case Json::Kind::boolean:
            return "a boolean";
        case Json::Kind::integer:
            return "an integer";
        case Json::Kind::number:
            return "a number";
        case Json::Kind::string:
            return "a string";
        case Json::Kind::array:
            return "an array";
        case Json::Kind::object:
            return "an object";
    }
    return "an unknown value";
}

std::string to_text(const Json& value) {
    JsonWriter writer;
    writer.json(value);
    return std::move(writer).take();
}

}  // namespace kcoral::protocol
