// Reading values: whatever is not exactly as the contract has it is refused.
#include "protocol/json_fields.hpp"
#include "protocol/quote.hpp"
#include "protocol/value.hpp"
#include "protocol/workspace_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace kcoral::protocol {
namespace {

constexpr ErrorCode code = ErrorCode::protocol;

class ValueDecoder {
  public:
    ValueDecoder(Digests digests, std::uint32_t& next_part)
        : digests_(digests), next_part_(next_part) {}

    Result<Value> decode(Json json, const JsonPath& path) {
        TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), path, code));
        TRY_ASSIGN(std::string type, fields.string("type"));
        TRY_ASSIGN(Value::Node node, decode_node(type, fields));
        TRY(fields.done());
        return Value(std::move(node));
    }

  private:
    Result<Value::Node> decode_node(std::string_view type, JsonFields& fields);
    Result<Value::Node> decode_number(JsonFields& fields);
    Result<Value::Node> decode_array(JsonFields& fields);
    Result<Value::Node> decode_object(JsonFields& fields);
    Result<Value::Node> decode_bytes(JsonFields& fields);
    Result<Value::Node> decode_tensor(JsonFields& fields);
    Result<Value::Node> decode_file(JsonFields& fields);
    Result<Value::Node> decode_folder(JsonFields& fields);

    Result<Part> take_part(JsonFields& fields);
    Result<void> enter(JsonFields& fields);

    const Digests digests_;
    std::uint32_t& next_part_;
    std::size_t depth_ = 0;
};

template <typename T>
Result<Value::Node> as_node(Result<T> result) {
    if (!result) return Failure(std::move(result.error()));
    return Value::Node(std::move(*result));
}

Result<Value::Node> ValueDecoder::decode_node(std::string_view type, JsonFields& fields) {
    if (type == "null") return Value::Node(nullptr);
    if (type == "boolean") return as_node(fields.boolean("value"));
    if (type == "integer") return as_node(fields.integer("value"));
    if (type == "number") return decode_number(fields);
    if (type == "string") return as_node(fields.string("value"));
    if (type == "array") return decode_array(fields);
    if (type == "object") return decode_object(fields);
    if (type == "bytes") return decode_bytes(fields);
    if (type == "tensor") return decode_tensor(fields);
    if (type == "file") return decode_file(fields);
    if (type == "folder") return decode_folder(fields);
    return fields.fail("type", "unknown type " + quote(type));
}

Result<Value::Node> ValueDecoder::decode_number(JsonFields& fields) {
    TRY_ASSIGN(double number, fields.number("value"));
    if (!std::isfinite(number)) return fields.fail("value", "the number is beyond all doubles");
    return Value::Node(number);
}

Result<void> ValueDecoder::enter(JsonFields& fields) {
    if (++depth_ <= max_value_depth) return {};
    return failure_at(fields.path(), code,
                      fmt::format("values nest deeper than {} levels", max_value_depth));
}

Result<Value::Node> ValueDecoder::decode_array(JsonFields& fields) {
    TRY_ASSIGN(JsonArray items, fields.array("value"));
    TRY(enter(fields));
    const JsonPath path = fields.path().child("value");
    ArrayValue array;
    array.reserve(items.size());
    for (Json& item : items) {
        const JsonPath at = path.item(array.size());
        TRY_ASSIGN(Value value, decode(std::move(item), at));
        array.push_back(std::move(value));
    }
    --depth_;
    return Value::Node(std::move(array));
}

Result<Value::Node> ValueDecoder::decode_object(JsonFields& fields) {
    TRY_ASSIGN(JsonObject members, fields.object("value"));
    TRY(enter(fields));
    const JsonPath path = fields.path().child("value");
    ObjectValue object;
    object.reserve(members.size());
    for (JsonMember& member : members) {
        const JsonPath at = path.child(member.name);
        TRY_ASSIGN(Value value, decode(std::move(member.value), at));
        object.push_back({std::move(member.name), std::move(value)});
    }
    --depth_;
    return Value::Node(std::move(object));
}

Result<std::uint64_t> take_size(JsonFields& fields) {
    TRY_ASSIGN(Integer integer, fields.integer("size"));
    auto size = integer.to_uint64();
    if (!size) return fields.fail("size", "expected an integer from 0 to 2^64 - 1");
    return *size;
}

// The part's number and digest; its size is for the caller to find.
Result<Part> ValueDecoder::take_part(JsonFields& fields) {
    Part part{.index = next_part_++};
    if (digests_ == Digests::absent) {
        TRY_ASSIGN(Integer index, fields.integer("part"));
        if (index != Integer(part.index))
            return fields.fail(
                "part", fmt::format("expected {}, got {}", part.index, quote(index.decimal())));
        return part;
    }
    TRY_ASSIGN(std::string name, fields.string("part"));
    if (name != part_name(part.index))
        return fields.fail(
            "part", fmt::format("expected {}, got {}", quote(part_name(part.index)), quote(name)));
    TRY_ASSIGN(std::string hex, fields.string("sha256"));
    auto digest = Digest::from_hex(hex);
    if (!digest) return fields.fail("sha256", "expected 64 lowercase hexadecimal digits");
    part.digest = *digest;
    return part;
}

Result<Value::Node> ValueDecoder::decode_bytes(JsonFields& fields) {
    TRY_ASSIGN(Part part, take_part(fields));
    part.size = Part::unknown_size;
    if (digests_ == Digests::absent) {
        TRY_ASSIGN(part.size, take_size(fields));
    }
    return Value::Node(BytesValue{part});
}

Result<Value::Node> ValueDecoder::decode_tensor(JsonFields& fields) {
    TRY_ASSIGN(std::string name, fields.string("dtype"));
    auto dtype = dtype_from(name);
    if (!dtype) return fields.fail("dtype", "unknown dtype " + quote(name));
    TRY_ASSIGN(JsonArray items, fields.array("shape"));
    TensorValue tensor{.dtype = *dtype};
    tensor.shape.reserve(items.size());
    for (const Json& item : items) {
        auto dimension = item.integer() ? item.integer()->to_int64() : std::nullopt;
        if (!dimension || *dimension < 0)
            return fields.fail("shape", "expected integers from 0 to 2^63 - 1");
        tensor.shape.push_back(*dimension);
    }
    auto size = tensor_bytes(tensor.dtype, tensor.shape);
    if (!size) return fields.fail("shape", "the tensor has more than 2^64 bytes");
    TRY_ASSIGN(tensor.part, take_part(fields));
    tensor.part.size = *size;
    if (digests_ == Digests::absent) {
        TRY_ASSIGN(std::uint64_t said, take_size(fields));
        if (said != *size)
            return fields.fail("size",
                               fmt::format("dtype and shape make {} bytes, not {}", *size, said));
    }
    return Value::Node(std::move(tensor));
}

Result<Value::Node> ValueDecoder::decode_file(JsonFields& fields) {
    TRY_ASSIGN(std::uint64_t size, take_size(fields));
    TRY_ASSIGN(Part part, take_part(fields));
    part.size = size;
    return Value::Node(FileValue{part});
}

Result<void> check_path(JsonFields& fields, std::string_view name, const std::string& path,
                        const std::string* previous) {
    if (!is_normal_path(path))
        return fields.fail(name, quote(path) + " is no relative path in normal form");
    if (previous && *previous >= path)
        return fields.fail(name, fmt::format("{} must not follow {}: the order is by path",
                                             quote(path), quote(*previous)));
    return {};
}

// Every directory that a path lies in must be listed, and nothing be both file and directory.
Result<void> check_tree(JsonFields& fields, const FolderValue& folder) {
    auto is_directory = [&](std::string_view path) {
        return std::ranges::binary_search(folder.directories, path, std::less<>());
    };
    auto check_parent = [&](std::string_view path) -> Result<void> {
        std::size_t slash = path.rfind('/');
        if (slash == std::string_view::npos || is_directory(path.substr(0, slash))) return {};
        return fields.fail("directories",
                           quote(path.substr(0, slash)) + " is missing, but something is in it");
    };
    for (const std::string& directory : folder.directories)
        TRY(check_parent(directory));
    for (const auto& [path, file] : folder.files) {
        TRY(check_parent(path));
        if (is_directory(path))
            return fields.fail("directories", quote(path) + " is a file as well");
    }
    return {};
}

Result<Value::Node> ValueDecoder::decode_folder(JsonFields& fields) {
    TRY_ASSIGN(JsonObject files, fields.object("files"));
    TRY_ASSIGN(JsonArray directories, fields.array("directories"));
    FolderValue folder;
    folder.files.reserve(files.size());
    const JsonPath path = fields.path().child("files");
    for (JsonMember& member : files) {
        TRY(check_path(fields, "files", member.name,
                       folder.files.empty() ? nullptr : &folder.files.back().first));
        const JsonPath at = path.child(member.name);
        TRY_ASSIGN(Value value, decode(std::move(member.value), at));
        const auto* file = std::get_if<FileValue>(&value.node());
        if (!file) return failure_at(at, code, "expected a value of type \"file\"");
        folder.files.emplace_back(std::move(member.name), *file);
    }
    folder.directories.reserve(directories.size());
    for (Json& item : directories) {
        std::string* directory = item.string();
        if (!directory)
            return unexpected_kind(fields.path().child("directories"), code, "strings", item);
        TRY(check_path(fields, "directories", *directory,
                       folder.directories.empty() ? nullptr : &folder.directories.back()));
        folder.directories.push_back(std::move(*directory));
    }
    TRY(check_tree(fields, folder));
    return Value::Node(std::move(folder));
}

}  // namespace

Result<Value> decode_value(Json json, std::string_view path, Digests digests,
                           std::uint32_t& next_part) {
    return ValueDecoder(digests, next_part)
        .decode(std::move(json), JsonPath(path, JsonPath::Root::shown));
}

}  // namespace kcoral::protocol
