#include "protocol/program.hpp"

#include "protocol/testing/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kcoral::protocol {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::repeat;
using ::testing::StartsWith;

const std::string digest_text(64, 'a');
const Digest digest = *Digest::from_hex(digest_text);

std::string program_of(std::string_view instructions, std::string_view options = "") {
    return fmt::format(R"({{"instructions":[{}]{}}})", instructions,
                       options.empty() ? "" : fmt::format(R"(,"options":{})", options));
}

// Instructions that others may refer to.
constexpr std::string_view module = R"({"op":"upload","kind":"module","id":"m","source":"x = 1"})";
constexpr std::string_view function =
    R"({"op":"get_function","id":"f","module":{"$ref":"m"},"name":"g"})";

std::string after_function(std::string_view instruction) {
    return program_of(fmt::format("{},{},{}", module, function, instruction));
}

std::string upload(std::string_view kind, std::string_view rest) {
    return program_of(fmt::format(R"({{"op":"upload","kind":"{}","id":"u","blob":"{}"{}}})", kind,
                                  digest_text, rest));
}

TEST(Program, HoldsEveryInstruction) {
    std::string text = fmt::format(
        R"({{"options":{{"gpu_count":2,"timeout_seconds":5,"output_limit_bytes":10}},"instructions":[
            {},{},
            {{"op":"upload","kind":"tensor","id":"t","blob":"{}","dtype":"float32","shape":[2,3]}},
            {{"op":"upload","kind":"bytes","id":"b","blob":"{}"}},
            {{"op":"upload","kind":"library","id":"l","blob":"{}"}},
            {{"op":"upload","kind":"file","id":"p","blob":"{}","path":"./a//b"}},
            {{"op":"get_function","id":"c","module":{{"$ref":"l"}},"name":"h","cpu_only":true}},
            {{"op":"run","id":"r","fn":{{"$ref":"f"}},"args":[{{"$ref":"t"}},1,{{"x":{{"$ref":"t"}}}},
                [{{"$ref":"nothing"}}],{{"$ref":"t","y":2}},null]}},
            {{"op":"run","id":"s","fn":{{"$ref":"c"}}}},
            {{"op":"return","key":"r","value":{{"$ref":"r"}}}},
            {{"op":"return","key":"file","kind":"file","path":"a/./b"}},
            {{"op":"return","key":"folder","kind":"folder","path":{{"$ref":"p"}}}}
        ]}})",
        module, function, digest_text, digest_text, digest_text, digest_text);
    auto program = parse_program(text);
    ASSERT_TRUE(program) << message_of(program);
    Json reference = JsonObject{{"$ref", "t"}};
    Program expected{
        .instructions = {UploadModule{"m", "x = 1"}, GetFunction{"f", {0}, "g", false},
                         UploadTensor{"t", digest, Dtype::float32, {2, 3}},
                         UploadBytes{"b", digest}, UploadLibrary{"l", digest},
                         UploadFile{"p", digest, "a/b"}, GetFunction{"c", {4}, "h", true},
                         protocol::Run{"r",
                                       {1},
                                       {Reference{2}, Json(1), Json(JsonObject{{"x", reference}}),
                                        Json(JsonArray{JsonObject{{"$ref", "nothing"}}}),
                                        Json(JsonObject{{"$ref", "t"}, {"y", 2}}), Json()}},
                         protocol::Run{"s", {6}, {}}, ReturnValue{"r", {7}},
                         ReturnPath{"file", PathKind::file, "a/b"},
                         ReturnPath{"folder", PathKind::folder, Reference{5}}},
        .options = {.timeout_seconds = 5, .output_limit_bytes = 10, .gpu_count = 2}};
    EXPECT_EQ(*program, expected);

    auto again = parse_program(to_text(*program));
    ASSERT_TRUE(again) << message_of(again);
    EXPECT_EQ(*again, expected);
}

TEST(Program, AcceptsWhatTheRulesJustAllow) {
    for (const std::string& text : {
             program_of(module, "{}"),
             program_of(module, R"({"timeout_seconds":1e-300})"),
             program_of(module, R"({"timeout_seconds":1)" + repeat("0", 400) + "}"),
             program_of(module, R"({"output_limit_bytes":0})"),
             program_of(module, R"({"output_limit_bytes":1)" + repeat("0", 400) + "}"),
             program_of(module, R"({"gpu_count":1})"),
             program_of(module, R"({"gpu_count":8})"),
             program_of(R"({"op":"upload","kind":"module","id":"m","source":""})"),
             upload("tensor", R"(,"dtype":"bool","shape":[])"),
             upload("tensor", R"(,"dtype":"int8","shape":[0,9223372036854775807])"),
             after_function(R"({"op":"run","id":"r","fn":{"$ref":"f"},"args":[]})"),
             after_function(R"({"op":"return","key":"m","value":{"$ref":"m"}})"),
         }) {
        auto program = parse_program(text);
        EXPECT_TRUE(program) << text << ": " << message_of(program);
    }
}

TEST(Program, SaturatesOptionsNoMachineCanHold) {
    std::string digits = "1" + repeat("0", 400);
    auto program = parse_program(program_of(
        module,
        fmt::format(R"({{"timeout_seconds":{},"output_limit_bytes":{}}})", digits, digits)));
    EXPECT_EQ(program->options.timeout_seconds, std::numeric_limits<double>::max());
    EXPECT_EQ(program->options.output_limit_bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(Program, SaysWhatIsWrongAndWhere) {
    struct Row {
        std::string text;
        std::string_view message;
    };
    const Row rows[] = {
        {"{", "program: line 1, column 2: the JSON value is not complete"},
        {"[]", "program: expected an object, got an array"},
        {"{}", "program: the field \"instructions\" is missing"},
        {R"({"instructions":{}})", "instructions: expected an array, got an object"},
        {R"({"instructions":[]})", "instructions: expected at least one"},
        {R"({"instructions":[1]})", "instructions[0]: expected an object, got an integer"},
        {fmt::format(R"({{"instructions":[{}],"x":1}})", module), "program: unknown field \"x\""},
        {program_of(R"({"id":"a"})"), "instructions[0]: the field \"op\" is missing"},
        {program_of(R"({"op":1})"), "instructions[0].op: expected a string, got an integer"},
        {program_of(R"({"op":"jump"})"),
         "instructions[0].op: expected upload, get_function, run or return, got \"jump\""},
        {program_of(R"({"op":"upload"})"), "instructions[0]: the field \"kind\" is missing"},
        {program_of(R"({"op":"upload","kind":"x"})"),
         "instructions[0].kind: expected module, tensor, bytes, library or file, got \"x\""},
        // ids
        {program_of(R"({"op":"upload","kind":"module","id":"","source":""})"),
         "instructions[0].id: expected a string that is not empty"},
        {program_of(R"({"op":"upload","kind":"module","id":5,"source":""})"),
         "instructions[0].id: expected a string, got an integer"},
        {program_of(fmt::format("{},{}", module, module)),
         "instructions[1].id: \"m\" is the id of instructions[0] already"},
        // modules
        {program_of(R"({"op":"upload","kind":"module","id":"m"})"),
         "instructions[0]: the field \"source\" is missing"},
        {program_of(R"({"op":"upload","kind":"module","id":"m","source":null})"),
         "instructions[0].source: expected a string, got null"},
        {program_of(R"({"op":"upload","kind":"module","id":"m","source":"","blob":""})"),
         "instructions[0]: unknown field \"blob\""},
        // blobs
        {program_of(R"({"op":"upload","kind":"bytes","id":"b"})"),
         "instructions[0]: the field \"blob\" is missing"},
        {program_of(R"({"op":"upload","kind":"bytes","id":"b","blob":"A"})"),
         "instructions[0].blob: expected 64 lowercase hexadecimal digits"},
        {upload("bytes", R"(,"path":"x")"), "instructions[0]: unknown field \"path\""},
        {upload("library", R"(,"name":"x")"), "instructions[0]: unknown field \"name\""},
        // tensors
        {upload("tensor", R"(,"shape":[])"), "instructions[0]: the field \"dtype\" is missing"},
        {upload("tensor", R"(,"dtype":"int7","shape":[])"),
         "instructions[0].dtype: expected one of bool, "},
        {upload("tensor", R"(,"dtype":"int8")"), "instructions[0]: the field \"shape\" is missing"},
        {upload("tensor", R"(,"dtype":"int8","shape":4)"),
         "instructions[0].shape: expected an array, got an integer"},
        {upload("tensor", R"(,"dtype":"int8","shape":[1,-1])"),
         "instructions[0].shape[1]: expected an integer from 0"},
        {upload("tensor", R"(,"dtype":"int8","shape":[9223372036854775808])"),
         "instructions[0].shape[0]: expected an integer from 0 to 9223372036854775807"},
        {upload("tensor", R"(,"dtype":"int8","shape":[1.0])"),
         "instructions[0].shape[0]: expected an integer, got a number"},
        {upload("tensor", R"(,"dtype":"int8","shape":[true])"),
         "instructions[0].shape[0]: expected an integer, got a boolean"},
        // files
        {upload("file", ""), "instructions[0]: the field \"path\" is missing"},
        {upload("file", R"(,"path":1)"), "instructions[0].path: expected a string"},
        {upload("file", R"(,"path":"")"), "instructions[0].path: a path must not be empty"},
        {upload("file", R"(,"path":"../x")"), "instructions[0].path: a path must not contain '..'"},
        {upload("file", R"(,"path":".kcoral/x")"), "instructions[0].path: the top-level"},
        {upload("file", R"(,"path":"a\u0000")"),
         "instructions[0].path: a path must not contain NUL"},
        // get_function
        {program_of(function), "instructions[0].module.$ref: \"m\" is not the id of an earlier"},
        {after_function(R"({"op":"get_function","id":"h","module":"m","name":"g"})"),
         "instructions[2].module: expected a reference, {\"$ref\": \"<id>\"}, got a string"},
        {after_function(R"({"op":"get_function","id":"h","module":{"$ref":"m","x":1},"name":"g"})"),
         "instructions[2].module: expected a reference"},
        {after_function(R"({"op":"get_function","id":"h","module":{"$ref":"m"},"name":""})"),
         "instructions[2].name: expected a string that is not empty"},
        {after_function(
             R"({"op":"get_function","id":"h","module":{"$ref":"m"},"name":"g","cpu_only":1})"),
         "instructions[2].cpu_only: expected a boolean, got an integer"},
        // run
        {after_function(R"({"op":"run","id":"r"})"),
         "instructions[2]: the field \"fn\" is missing"},
        {after_function(R"({"op":"run","id":"r","fn":{"$ref":"f"},"args":"x"})"),
         "instructions[2].args: expected an array, got a string"},
        {after_function(R"({"op":"run","id":"r","fn":{"$ref":"f"},"args":[1,{"$ref":"r"}]})"),
         "instructions[2].args[1].$ref: \"r\" is not the id of an earlier instruction"},
        {after_function(R"({"op":"run","id":"r","fn":{"$ref":"f"},"args":[{"$ref":1}]})"),
         "instructions[2].args[0].$ref: expected a string, got an integer"},
        {after_function(R"({"op":"run","id":"r","fn":{"$ref":"f"},"kwargs":{}})"),
         "instructions[2]: unknown field \"kwargs\""},
        {after_function(R"({"op":"run","fn":{"$ref":"f"}})"),
         "instructions[2]: the field \"id\" is missing"},
        // return
        {after_function(R"({"op":"return","value":{"$ref":"f"}})"),
         "instructions[2]: the field \"key\" is missing"},
        {after_function(R"({"op":"return","key":"","value":{"$ref":"f"}})"),
         "instructions[2].key: expected a string that is not empty"},
        {after_function(R"({"op":"return","key":"k"})"),
         "instructions[2]: the field \"value\" is missing"},
        {after_function(R"({"op":"return","key":"k","value":1})"),
         "instructions[2].value: expected a reference"},
        {after_function(R"({"op":"return","key":"k","id":"i","value":{"$ref":"f"}})"),
         "instructions[2]: unknown field \"id\""},
        {after_function(R"({"op":"return","key":"k","value":{"$ref":"f"}},
                           {"op":"return","key":"k","value":{"$ref":"f"}})"),
         "instructions[3].key: \"k\" is the key of an earlier return already"},
        {after_function(R"({"op":"return","key":"k","kind":"file"})"),
         "instructions[2]: the field \"path\" is missing"},
        {after_function(R"({"op":"return","key":"k","path":"x"})"),
         "instructions[2]: the field \"kind\" is missing"},
        {after_function(R"({"op":"return","key":"k","kind":"disk","path":"x"})"),
         "instructions[2].kind: expected file or folder, got \"disk\""},
        {after_function(R"({"op":"return","key":"k","kind":"file","path":3})"),
         "instructions[2].path: expected a string or a reference, got an integer"},
        {after_function(R"({"op":"return","key":"k","kind":"file","path":"/x"})"),
         "instructions[2].path: a path must be relative"},
        {after_function(R"({"op":"return","key":"k","kind":"folder","path":"."})"),
         "instructions[2].path: a path must name something"},
        {after_function(R"({"op":"return","key":"k","kind":"file","path":{"$ref":"q"}})"),
         "instructions[2].path.$ref: \"q\" is not the id"},
        {after_function(
             R"({"op":"return","key":"k","kind":"file","path":"x","value":{"$ref":"f"}})"),
         "instructions[2]: unknown field \"value\""},
        // options
        {program_of(module, "null"), "options: expected an object, got null"},
        {program_of(module, R"({"x":1})"), "options: unknown field \"x\""},
        {program_of(module, R"({"timeout_seconds":0})"),
         "options.timeout_seconds: expected a number above 0"},
        {program_of(module, R"({"timeout_seconds":-0.5})"), "options.timeout_seconds: expected"},
        {program_of(module, R"({"timeout_seconds":true})"),
         "options.timeout_seconds: expected a number, got a boolean"},
        {program_of(module, R"({"timeout_seconds":null})"), "options.timeout_seconds: expected"},
        {program_of(module, R"({"output_limit_bytes":-1})"),
         "options.output_limit_bytes: expected"},
        {program_of(module, R"({"output_limit_bytes":1.5})"),
         "options.output_limit_bytes: expected an integer, got a number"},
        {program_of(module, R"({"output_limit_bytes":false})"),
         "options.output_limit_bytes: expected"},
        {program_of(module, R"({"gpu_count":0})"),
         "options.gpu_count: expected an integer from 1 to 8"},
        {program_of(module, R"({"gpu_count":9})"), "options.gpu_count: expected"},
        {program_of(module, R"({"gpu_count":true})"), "options.gpu_count: expected an integer"},
        {program_of(module, R"({"gpu_count":1.0})"), "options.gpu_count: expected an integer"},
    };
    for (const Row& row : rows) {
        auto program = parse_program(row.text);
        ASSERT_FALSE(program) << row.text;
        EXPECT_EQ(program.error().code, ErrorCode::bad_request);
        EXPECT_THAT(program.error().message, StartsWith(row.message)) << row.text;
    }
}

TEST(Program, RefusesUploadsThatGetInEachOthersWay) {
    auto files = [](std::initializer_list<std::string_view> paths) {
        std::string instructions;
        for (std::string_view path : paths)
            instructions += fmt::format(
                R"({}{{"op":"upload","kind":"file","id":"{}","blob":"{}","path":"{}"}})",
                instructions.empty() ? "" : ",", instructions.size(), digest_text, path);
        return parse_program(program_of(instructions));
    };
    EXPECT_TRUE(files({"a", "b/c", "b/d", "a.b", "a-b", "ab", "b.c", "b!c"}));
    EXPECT_THAT(
        message_of(files({"a", "./a"})),
        StartsWith("instructions[1].path: \"a\" conflicts with \"a\", where instructions[0]"));
    EXPECT_THAT(message_of(files({"a", "a.b", "a!", "a/b/c"})),
                StartsWith("instructions[3].path: \"a/b/c\" conflicts with \"a\""));
    EXPECT_THAT(message_of(files({"x", "a/b/c", "a-", "a/b"})),
                StartsWith("instructions[3].path: \"a/b\" conflicts with \"a/b/c\""));
}

TEST(Program, BoundsTheNumberOfInstructionsOnBothSides) {
    auto program = program_of(fmt::format("{},{}", module, function));
    EXPECT_TRUE(parse_program(program, {.max_instructions = 2}));
    EXPECT_THAT(message_of(parse_program(program, {.max_instructions = 1})),
                StartsWith("instructions: expected at most 1, got 2"));
}

TEST(Program, QuotesLongTextShortly) {
    std::string message = message_of(
        parse_program(program_of(fmt::format(R"({{"op":"{}"}})", repeat("\xC3\xA9", 100'000)))));
    EXPECT_LT(message.size(), 250u);
    EXPECT_THAT(message, HasSubstr("\"..."));
}

TEST(Program, NamesItsInstructions) {
    EXPECT_EQ(operation(UploadFile{}), "upload");
    EXPECT_EQ(operation(GetFunction{}), "get_function");
    EXPECT_EQ(operation(protocol::Run{}), "run");
    EXPECT_EQ(operation(ReturnPath{}), "return");
    EXPECT_EQ(*instruction_id(protocol::Run{"r", {}, {}}), "r");
    EXPECT_EQ(instruction_id(ReturnValue{"k", {}}), nullptr);
    EXPECT_EQ(*return_key(ReturnValue{"k", {}}), "k");
    EXPECT_EQ(return_key(protocol::Run{"r", {}, {}}), nullptr);
}

}  // namespace
}  // namespace kcoral::protocol
