// Values as text, and the walk over their parts.
#include "protocol/value.hpp"

#include <fmt/format.h>

namespace kcoral::protocol {
namespace {

class ValueWriter {
  public:
    ValueWriter(JsonWriter& json, Digests digests, std::uint32_t& next_part)
        : json_(json), digests_(digests), next_part_(next_part) {}

    void write(const Value& value) {
        json_.begin_object().key("type");
        std::visit([this](const auto& known) { members(known); }, value.node());
        json_.end_object();
    }

  private:
    void members(std::nullptr_t) { json_.string("null"); }
    void members(bool value) { json_.string("boolean").key("value").boolean(value); }
    void members(const Integer& value) { json_.string("integer").key("value").integer(value); }
    void members(double value) { json_.string("number").key("value").number(value); }
    void members(const std::string& value) { json_.string("string").key("value").string(value); }

    void members(const ArrayValue& array) {
        json_.string("array").key("value").begin_array();
        for (const Value& item : array)
            write(item);
        json_.end_array();
    }

    void members(const ObjectValue& object) {
        json_.string("object").key("value").begin_object();
        for (const ValueMember& member : object) {
            json_.key(member.name);
            write(member.value);
        }
        json_.end_object();
    }

    void members(const BytesValue& bytes) {
        json_.string("bytes");
        part(bytes.part);
        if (digests_ == Digests::absent) size(bytes.part);
    }

    void members(const TensorValue& tensor) {
        json_.string("tensor").key("dtype").string(to_string(tensor.dtype));
        json_.key("shape").begin_array();
        for (std::int64_t dimension : tensor.shape)
            json_.integer(dimension);
        json_.end_array();
        part(tensor.part);
        if (digests_ == Digests::absent) size(tensor.part);
    }

    void members(const FileValue& file) {
        json_.string("file");
        size(file.part);
        part(file.part);
    }

    void members(const FolderValue& folder) {
        json_.string("folder").key("files").begin_object();
        for (const auto& [path, file] : folder.files) {
            json_.key(path).begin_object().key("type");
            members(file);
            json_.end_object();
        }
        json_.end_object().key("directories").begin_array();
        for (const std::string& directory : folder.directories)
            json_.string(directory);
        json_.end_array();
    }

    void part(const Part& part) {
        std::uint32_t index = next_part_++;
        if (digests_ == Digests::absent)
            json_.key("part").integer(index);
        else
            json_.key("part").string(part_name(index)).key("sha256").string(part.digest.hex());
    }

    void size(const Part& part) { json_.key("size").integer(part.size); }

    JsonWriter& json_;
    const Digests digests_;
    std::uint32_t& next_part_;
};

// Works on values and on constant ones.
template <typename AnyValue, typename Visit>
void walk(AnyValue& value, const Visit& visit) {
    std::visit(
        [&]<typename T>(T& node) {
            using Node = std::remove_const_t<T>;
            if constexpr (std::same_as<Node, ArrayValue>) {
                for (auto& item : node)
                    walk(item, visit);
            } else if constexpr (std::same_as<Node, ObjectValue>) {
                for (auto& member : node)
                    walk(member.value, visit);
            } else if constexpr (std::same_as<Node, FolderValue>) {
                for (auto& [path, file] : node.files)
                    visit(file.part);
            } else if constexpr (requires { node.part; }) {
                visit(node.part);
            }
        },
        value.node());
}

}  // namespace

void for_each_part(const Value& value, const std::function<void(const Part&)>& visit) {
    walk(value, visit);
}

void for_each_part(Value& value, const std::function<void(Part&)>& visit) {
    walk(value, visit);
}

void write_value(JsonWriter& writer, const Value& value, Digests digests,
                 std::uint32_t& next_part) {
    ValueWriter(writer, digests, next_part).write(value);
}

std::string part_name(std::uint32_t index) {
    return fmt::format("return:{}", index);
}

}  // namespace kcoral::protocol
