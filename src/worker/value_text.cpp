// The shapes of a value tree's nodes.
#include "worker/value_text.hpp"

namespace kcoral::worker {

using protocol::JsonWriter;

// The beginning of a node.
JsonWriter& ValueText::typed(std::string_view type) {
    return writer_.begin_object().key("type").string(type);
}

void ValueText::part() {
    writer_.key("part").integer(parts_++);
}

void ValueText::null() {
    typed("null").end_object();
}

void ValueText::boolean(bool value) {
    typed("boolean").key("value").boolean(value).end_object();
}

void ValueText::integer(std::int64_t value) {
    typed("integer").key("value").integer(value).end_object();
}

void ValueText::integer(std::string_view digits) {
    typed("integer").key("value").raw(digits).end_object();
}

void ValueText::number(double value) {
    typed("number").key("value").number(value).end_object();
}

void ValueText::string(std::string_view utf8) {
    typed("string").key("value").string(utf8).end_object();
}

void ValueText::bytes(std::uint64_t size) {
    typed("bytes");
    part();
    writer_.key("size").integer(size).end_object();
}

void ValueText::tensor(protocol::Dtype dtype, std::span<const std::int64_t> shape,
                       std::uint64_t size) {
    typed("tensor").key("dtype").string(to_string(dtype)).key("shape").begin_array();
    for (std::int64_t extent : shape)
        writer_.integer(extent);
    writer_.end_array();
    part();
    writer_.key("size").integer(size).end_object();
}

void ValueText::file(std::uint64_t size) {
    typed("file").key("size").integer(size);
    part();
    writer_.end_object();
}

void ValueText::begin_array() {
    typed("array").key("value").begin_array();
}

void ValueText::end_array() {
    writer_.end_array().end_object();
}

void ValueText::begin_object() {
    typed("object").key("value").begin_object();
}

void ValueText::end_object() {
    writer_.end_object().end_object();
}

void ValueText::begin_folder() {
    typed("folder").key("files").begin_object();
}

void ValueText::end_folder(std::span<const std::string> directories) {
    writer_.end_object().key("directories").begin_array();
    for (const std::string& directory : directories)
        writer_.string(directory);
    writer_.end_array().end_object();
}

}  // namespace kcoral::worker
