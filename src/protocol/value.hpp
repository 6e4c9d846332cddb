// Value: what a program returns - a typed tree whose large bytes travel beside it, as parts.
//
// The same tree has two texts. On the way to a client each binary node names its part ("return:3")
// and its digest; on the way from a worker to the server it has its part's number within the one
// return and its size. One codec serves both.
#pragma once

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/dtype.hpp"
#include "protocol/integer.hpp"
#include "protocol/json.hpp"
#include "protocol/json_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kcoral::protocol {

inline constexpr std::size_t max_value_depth = 512;
// Each level of a value takes two of JSON; the documents around it take a few.
inline constexpr std::size_t max_value_json_depth = 2 * max_value_depth + 16;

// The bytes of a binary node. Parts are numbered from 0, depth first.
struct Part {
    static constexpr std::uint64_t unknown_size = static_cast<std::uint64_t>(-1);

    std::uint32_t index = 0;
    // A client learns the size of `bytes` only from the part itself: unknown_size until then.
    std::uint64_t size = 0;
    Digest digest;  // unset on the way from a worker

    bool operator==(const Part&) const = default;
};

struct BytesValue {
    Part part;

    bool operator==(const BytesValue&) const = default;
};

struct TensorValue {
    Dtype dtype{};
    std::vector<std::int64_t> shape;  // none negative
    Part part;                        // its size is what dtype and shape say

    bool operator==(const TensorValue&) const = default;
};

struct FileValue {
    Part part;

    bool operator==(const FileValue&) const = default;
};

struct FolderValue {
    std::vector<std::pair<std::string, FileValue>> files;  // sorted by path, in normal form
    std::vector<std::string> directories;                  // sorted; every ancestor is there

    bool operator==(const FolderValue&) const = default;
};

class Value;
struct ValueMember;

using ArrayValue = std::vector<Value>;
using ObjectValue = std::vector<ValueMember>;  // in insertion order, names unique

class Value {
  public:
    using Node = std::variant<std::nullptr_t, bool, Integer, double, std::string, ArrayValue,
                              ObjectValue, BytesValue, TensorValue, FileValue, FolderValue>;

    Value() noexcept;  // null
    Value(Node node) noexcept;
    Value(const Value&);
    Value(Value&&) noexcept;
    Value& operator=(const Value&);
    Value& operator=(Value&&) noexcept;
    ~Value();

    const Node& node() const { return node_; }
    Node& node() { return node_; }

    bool operator==(const Value& other) const;

  private:
    Node node_;
};

struct ValueMember {
    std::string name;
    Value value;

    bool operator==(const ValueMember&) const = default;
};

inline Value::Value() noexcept : node_(nullptr) {}
inline Value::Value(Node node) noexcept : node_(std::move(node)) {}
inline Value::Value(const Value&) = default;
inline Value::Value(Value&&) noexcept = default;
inline Value& Value::operator=(const Value&) = default;
inline Value& Value::operator=(Value&&) noexcept = default;
inline Value::~Value() = default;
inline bool Value::operator==(const Value& other) const = default;

// Calls `visit` for each binary node's part, depth first: the order of numbering and sending.
void for_each_part(const Value& value, const std::function<void(const Part&)>& visit);
void for_each_part(Value& value, const std::function<void(Part&)>& visit);

// `present`: the contract's form. `absent`: the worker's, with sizes instead of digests.
enum class Digests { present, absent };

// Writes the value; its parts get the numbers from `next_part` on, which is moved past them. The
// indexes stored in the nodes do not matter.
void write_value(JsonWriter& writer, const Value& value, Digests digests, std::uint32_t& next_part);

// Reads a value strictly: exactly the members of its type, parts numbered from `next_part` on
// without a gap (it is moved past them), nesting bounded. An error is `protocol` and begins with
// `path`: "results.output.value[3].dtype: ...".
Result<Value> decode_value(Json json, std::string_view path, Digests digests,
                           std::uint32_t& next_part);

// "return:3" and back.
std::string part_name(std::uint32_t index);

}  // namespace kcoral::protocol
