#include "worker/value_text.hpp"

#include "protocol/value.hpp"

#include <gtest/gtest.h>

namespace kcoral::worker {
namespace {

using namespace protocol;

// What the server reads from a text.
Value read(ValueText text) {
    std::uint32_t next_part = 0;
    JsonLimits limits{.depth = max_value_json_depth};
    auto json = parse_json(std::move(text).take(), limits).value();
    auto value = decode_value(std::move(json), "value", Digests::absent, next_part);
    EXPECT_TRUE(value) << value.error().message;
    return value.value_or(Value());
}

TEST(ValueTextTest, TheServerReadsWhatWasWritten) {
    ValueText text;
    text.begin_object();
    text.key("scalars \"\n");
    text.begin_array();
    text.null();
    text.boolean(true);
    text.integer(std::int64_t{-5});
    text.integer("123456789012345678901234567890");
    text.number(2.0);
    text.string("\x01 \\ \xc3\xa9");
    text.end_array();
    text.key("parts");
    text.begin_array();
    text.bytes(3);
    std::vector<std::int64_t> shape{2, 3};
    text.tensor(Dtype::float32, shape, 24);
    text.tensor(Dtype::int8, {}, 1);
    text.file(7);
    text.begin_folder();
    text.key("a");
    text.file(1);
    text.key("b/c");
    text.file(2);
    std::vector<std::string> directories{"b", "d"};
    text.end_folder(directories);
    text.begin_object();
    text.end_object();
    text.end_array();
    text.end_object();

    auto node = [](Value::Node content) { return Value(std::move(content)); };
    ArrayValue scalars{
        node(nullptr),     node(true),
        node(Integer(-5)), node(*Integer::from_decimal("123456789012345678901234567890")),
        node(2.0),         node(std::string("\x01 \\ \xc3\xa9"))};
    FolderValue folder{{{"a", FileValue{{4, 1, {}}}}, {"b/c", FileValue{{5, 2, {}}}}}, {"b", "d"}};
    ArrayValue parts{node(BytesValue{{0, 3, {}}}),
                     node(TensorValue{Dtype::float32, {2, 3}, {1, 24, {}}}),
                     node(TensorValue{Dtype::int8, {}, {2, 1, {}}}),
                     node(FileValue{{3, 7, {}}}),
                     node(folder),
                     node(ObjectValue{})};
    ObjectValue expected{{"scalars \"\n", node(scalars)}, {"parts", node(parts)}};
    EXPECT_EQ(read(std::move(text)), node(expected));
}

TEST(ValueTextTest, TheServerReadsAsDeepAsReturnsMayNest) {
    ValueText text;
    for (std::size_t i = 0; i < max_value_depth; ++i)
        text.begin_array();
    text.integer(std::int64_t{1});
    for (std::size_t i = 0; i < max_value_depth; ++i)
        text.end_array();
    EXPECT_EQ(read(std::move(text)).node().index(), Value::Node(ArrayValue{}).index());
}

}  // namespace
}  // namespace kcoral::worker
