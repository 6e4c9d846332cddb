// JsonFields: takes a JSON object apart, strictly: every field asked for by name and kind, none
// left.
//
// Each error begins with the path of what is wrong and has the code the fields were opened with:
// `bad_request` for a client's text, `protocol` for a peer's. Fields are moved out as they are
// taken.
#pragma once

#include "base/error.hpp"
#include "protocol/json.hpp"
#include "protocol/json_path.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace kcoral::protocol {

class JsonFields {
  public:
    // The path must outlive the fields.
    static Result<JsonFields> open(Json json, const JsonPath& path, ErrorCode code);

    const JsonPath& path() const { return *path_; }
    bool has(std::string_view name) const { return object_.find(name) != nullptr; }

    // Each takes a required field of that kind; number() takes integers, too.
    Result<Json> any(std::string_view name);
    Result<bool> boolean(std::string_view name);
    Result<Integer> integer(std::string_view name);
    Result<double> number(std::string_view name);
    Result<std::string> string(std::string_view name);
    Result<std::string> non_empty_string(std::string_view name);
    Result<JsonArray> array(std::string_view name);
    Result<JsonObject> object(std::string_view name);

    // The object has no other fields than those taken.
    Result<void> done() const;

    // "path.name: message", with the code of these fields.
    Failure fail(std::string_view name, std::string_view message) const;

  private:
    JsonFields(JsonObject object, const JsonPath& path, ErrorCode code)
        : object_(std::move(object)), path_(&path), code_(code) {}

    template <typename T>
    Result<T> take(std::string_view name, T* (Json::*as)(), Json::Kind expected);

    JsonObject object_;
    const JsonPath* path_;
    ErrorCode code_;
    std::uint64_t taken_ = 0;  // a bit a member; no known object has 64
};

// "path: message"
Failure failure_at(const JsonPath& path, ErrorCode code, std::string_view message);
// "path: expected an array, got a string"
Failure unexpected_kind(const JsonPath& path, ErrorCode code, std::string_view expected,
                        const Json& got);

}  // namespace kcoral::protocol
