#include "protocol/value.hpp"

#include "protocol/testing/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

using ::testing::ElementsAre;
using testing::message_of;
using testing::repeat;
using ::testing::StartsWith;

const Digest digest = *Digest::from_hex(std::string(64, 'a'));
const std::string sha256 = R"("sha256":")" + std::string(64, 'a') + '"';

Result<Value> decode(std::string_view text, Digests digests, std::uint32_t first_part = 0) {
    auto json = parse_json(text, {.depth = max_value_json_depth});
    if (!json) return Failure(std::move(json.error()));
    return decode_value(std::move(*json), "value", digests, first_part);
}

std::string encode(const Value& value, Digests digests, std::uint32_t first_part = 0) {
    JsonWriter writer;
    write_value(writer, value, digests, first_part);
    return std::move(writer).take();
}

struct Form {
    std::string text;
    Value value;
};

TEST(Value, HasTheContractsForm) {
    const Form forms[] = {
        {R"({"type":"null"})", Value(nullptr)},
        {R"({"type":"boolean","value":true})", Value(true)},
        {R"({"type":"integer","value":-5})", Value(Integer(-5))},
        {R"({"type":"integer","value":1)" + repeat("0", 400) + "}",
         Value(*Integer::from_decimal("1" + repeat("0", 400)))},
        {R"({"type":"number","value":1.0})", Value(1.0)},
        {R"({"type":"number","value":0.1})", Value(0.1)},
        {R"({"type":"string","value":"a\n"})", Value("a\n")},
        {R"({"type":"array","value":[]})", Value(ArrayValue{})},
        {R"({"type":"array","value":[{"type":"null"},{"type":"array","value":[]}]})",
         Value(ArrayValue{Value(), Value(ArrayValue{})})},
        {R"({"type":"object","value":{"z":{"type":"null"},"":{"type":"boolean","value":false}}})",
         Value(ObjectValue{{"z", Value()}, {"", Value(false)}})},
        {fmt::format(R"({{"type":"bytes","part":"return:0",{}}})", sha256),
         Value(BytesValue{{0, Part::unknown_size, digest}})},
        {fmt::format(R"({{"type":"tensor","dtype":"int16","shape":[2,3],"part":"return:0",{}}})",
                     sha256),
         Value(TensorValue{Dtype::int16, {2, 3}, {0, 12, digest}})},
        {fmt::format(R"({{"type":"tensor","dtype":"bool","shape":[],"part":"return:0",{}}})",
                     sha256),
         Value(TensorValue{Dtype::boolean, {}, {0, 1, digest}})},
        {fmt::format(R"({{"type":"file","size":7,"part":"return:0",{}}})", sha256),
         Value(FileValue{{0, 7, digest}})},
        {R"({"type":"folder","files":{},"directories":[]})", Value(FolderValue{})},
        {fmt::format(
             R"({{"type":"folder","files":{{"a":{{"type":"file","size":1,"part":"return:0",{0}}},)"
             R"("b/c/d":{{"type":"file","size":2,"part":"return:1",{0}}}}},)"
             R"("directories":["b","b/c","e"]}})",
             sha256),
         Value(FolderValue{{{"a", {{0, 1, digest}}}, {"b/c/d", {{1, 2, digest}}}},
                           {"b", "b/c", "e"}})},
    };
    for (const auto& [text, value] : forms) {
        EXPECT_EQ(encode(value, Digests::present), text);
        auto decoded = decode(text, Digests::present);
        ASSERT_TRUE(decoded) << text << ": " << message_of(decoded);
        EXPECT_EQ(*decoded, value) << text;
    }
}

TEST(Value, HasTheWorkersFormWithSizesInsteadOfDigests) {
    const Form forms[] = {
        {R"({"type":"bytes","part":0,"size":5})", Value(BytesValue{{.index = 0, .size = 5}})},
        {R"({"type":"tensor","dtype":"float32","shape":[2],"part":0,"size":8})",
         Value(TensorValue{Dtype::float32, {2}, {.index = 0, .size = 8}})},
        {R"({"type":"file","size":9,"part":0})", Value(FileValue{{.index = 0, .size = 9}})},
        {R"({"type":"array","value":[{"type":"bytes","part":0,"size":1},)"
         R"({"type":"bytes","part":1,"size":18446744073709551615}]})",
         Value(ArrayValue{Value(BytesValue{{.index = 0, .size = 1}}),
                          Value(BytesValue{{.index = 1, .size = 18446744073709551615u}})})},
    };
    for (const auto& [text, value] : forms) {
        EXPECT_EQ(encode(value, Digests::absent), text);
        auto decoded = decode(text, Digests::absent);
        ASSERT_TRUE(decoded) << text << ": " << message_of(decoded);
        EXPECT_EQ(*decoded, value) << text;
    }
}

TEST(Value, NumbersItsPartsDepthFirstFromWhereTheLastEnded) {
    auto bytes = [](std::uint64_t size) { return Value(BytesValue{{.size = size}}); };
    Value value(ArrayValue{
        bytes(10), Value(ObjectValue{{"x", bytes(11)}, {"y", Value(ArrayValue{bytes(12)})}}),
        Value(FolderValue{{{"f", {{.size = 13}}}, {"g", {{.size = 14}}}}, {}}), bytes(15)});
    std::vector<std::uint64_t> sizes;
    for_each_part(value, [&](Part& part) {
        sizes.push_back(part.size);
        part.index = 99;
    });
    EXPECT_THAT(sizes, ElementsAre(10, 11, 12, 13, 14, 15));

    JsonWriter writer;
    std::uint32_t next_part = 3;
    write_value(writer, value, Digests::absent, next_part);
    EXPECT_EQ(next_part, 9u);
    std::string text = std::move(writer).take();
    std::uint32_t expected_part = 3;
    auto decoded = decode_value(*parse_json(text), "value", Digests::absent, expected_part);
    ASSERT_TRUE(decoded) << message_of(decoded);
    EXPECT_EQ(expected_part, 9u);
    std::vector<std::uint32_t> indexes;
    for_each_part(std::as_const(*decoded),
                  [&](const Part& part) { indexes.push_back(part.index); });
    EXPECT_THAT(indexes, ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST(Value, RefusesWhatIsNotExactlyItsForm) {
    struct Row {
        std::string text;
        std::string_view message;
    };
    auto file = [](int part) {
        return fmt::format(R"({{"type":"file","size":1,"part":"return:{}",{}}})", part, sha256);
    };
    const Row rows[] = {
        {"1", "value: expected an object, got an integer"},
        {"{}", "value: the field \"type\" is missing"},
        {R"({"type":"set"})", "value.type: unknown type \"set\""},
        {R"({"type":"null","value":null})", "value: unknown field \"value\""},
        {R"({"type":"boolean"})", "value: the field \"value\" is missing"},
        {R"({"type":"boolean","value":1})", "value.value: expected a boolean, got an integer"},
        {R"({"type":"integer","value":1.0})", "value.value: expected an integer, got a number"},
        {R"({"type":"integer","value":true})", "value.value: expected an integer"},
        {R"({"type":"number","value":"1"})", "value.value: expected a number"},
        {R"({"type":"number","value":1)" + repeat("0", 400) + "}", "value.value: the number is"},
        {R"({"type":"string","value":null})", "value.value: expected a string"},
        {R"({"type":"array","value":{}})", "value.value: expected an array"},
        {R"({"type":"array","value":[1]})", "value.value[0]: expected an object"},
        {R"({"type":"object","value":{"k":{"type":"x"}}})", "value.value.k.type: unknown type"},
        {R"({"type":"bytes","part":"return:0"})", "value: the field \"sha256\" is missing"},
        {R"({"type":"bytes","part":0,)" + sha256 + "}", "value.part: expected a string"},
        {R"({"type":"bytes","part":"return:1",)" + sha256 + "}",
         "value.part: expected \"return:0\", got \"return:1\""},
        {R"({"type":"bytes","part":"return:00",)" + sha256 + "}", "value.part: expected"},
        {R"({"type":"bytes","part":"return:0","sha256":"AA"})", "value.sha256: expected 64"},
        {R"({"type":"bytes","part":"return:0","size":1,)" + sha256 + "}",
         "value: unknown field \"size\""},
        {R"({"type":"array","value":[{"type":"bytes","part":"return:0",)" + sha256 +
             R"(},{"type":"bytes","part":"return:0",)" + sha256 + "}]}",
         "value.value[1].part: expected \"return:1\""},
        {R"({"type":"tensor","dtype":"complex64","shape":[],"part":"return:0",)" + sha256 + "}",
         "value.dtype: unknown dtype"},
        {R"({"type":"tensor","dtype":"int8","shape":[-1],"part":"return:0",)" + sha256 + "}",
         "value.shape: expected integers"},
        {R"({"type":"tensor","dtype":"int8","shape":[4611686018427387904,4611686018427387904],)"
         R"("part":"return:0",)" +
             sha256 + "}",
         "value.shape: the tensor has more than 2^64"},
        {R"({"type":"file","part":"return:0",)" + sha256 + "}", "value: the field \"size\""},
        {R"({"type":"file","size":-1,"part":"return:0",)" + sha256 + "}", "value.size: expected"},
        {R"({"type":"folder","files":{}})", "value: the field \"directories\" is missing"},
        {R"({"type":"folder","files":{"a":{"type":"null"}},"directories":[]})",
         "value.files.a: expected a value of type \"file\""},
        {R"({"type":"folder","files":{"../a":)" + file(0) + R"(},"directories":[]})",
         "value.files: \"../a\" is no relative path"},
        {R"({"type":"folder","files":{"/a":)" + file(0) + R"(},"directories":[]})",
         "value.files: \"/a\" is no relative path"},
        {R"({"type":"folder","files":{"b":)" + file(0) + R"(,"a":)" + file(1) +
             R"(},"directories":[]})",
         "value.files: \"a\" must not follow \"b\""},
        {R"({"type":"folder","files":{"d/a":)" + file(0) + R"(},"directories":[]})",
         "value.directories: \"d\" is missing"},
        {R"({"type":"folder","files":{"d":)" + file(0) + R"(},"directories":["d"]})",
         "value.directories: \"d\" is a file as well"},
        {R"({"type":"folder","files":{},"directories":["b","a"]})",
         "value.directories: \"a\" must not follow \"b\""},
        {R"({"type":"folder","files":{},"directories":["a","a"]})",
         "value.directories: \"a\" must"},
        {R"({"type":"folder","files":{},"directories":["a/b"]})",
         "value.directories: \"a\" is miss"},
        {R"({"type":"folder","files":{},"directories":["."]})", "value.directories: \".\" is no"},
        {R"({"type":"folder","files":{},"directories":[1]})",
         "value.directories: expected strings"},
    };
    for (const Row& row : rows) {
        auto value = decode(row.text, Digests::present);
        ASSERT_FALSE(value) << row.text;
        EXPECT_EQ(value.error().code, ErrorCode::protocol);
        EXPECT_THAT(value.error().message, StartsWith(row.message)) << row.text;
    }
    const Row worker_rows[] = {
        {R"({"type":"bytes","part":"return:0","size":5})", "value.part: expected an integer"},
        {R"({"type":"bytes","part":1,"size":5})", "value.part: expected 0, got \"1\""},
        {R"({"type":"bytes","part":0})", "value: the field \"size\" is missing"},
        {R"({"type":"bytes","part":0,"size":5,)" + sha256 + "}", "value: unknown field \"sha256\""},
        {R"({"type":"bytes","part":0,"size":18446744073709551616})", "value.size: expected"},
        {R"({"type":"tensor","dtype":"int16","shape":[2],"part":0,"size":3})",
         "value.size: dtype and shape make 4 bytes, not 3"},
    };
    for (const Row& row : worker_rows) {
        auto value = decode(row.text, Digests::absent);
        ASSERT_FALSE(value) << row.text;
        EXPECT_THAT(value.error().message, StartsWith(row.message)) << row.text;
    }
}

TEST(Value, BoundsNestingOnBothSides) {
    for (auto [open, close] : {std::pair(R"({"type":"array","value":[)", "]}"),
                               std::pair(R"({"type":"object","value":{"k":)", "}}")}) {
        auto nested = [&](std::size_t levels) {
            return decode(repeat(open, levels) + R"({"type":"null"})" + repeat(close, levels),
                          Digests::present);
        };
        auto deepest = nested(max_value_depth);
        ASSERT_TRUE(deepest) << message_of(deepest);
        EXPECT_TRUE(
            parse_json(encode(*deepest, Digests::present), {.depth = max_value_json_depth}));
        EXPECT_THAT(message_of(nested(max_value_depth + 1)),
                    ::testing::HasSubstr("nest deeper than 512 levels"));
    }
    EXPECT_TRUE(decode(R"({"type":"array","value":[)" +
                           repeat(R"({"type":"array","value":[]},)", 1000) + R"({"type":"null"}]})",
                       Digests::present));
}

}  // namespace
}  // namespace kcoral::protocol
