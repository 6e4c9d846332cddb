// The rules of a program, one instruction after the other.
#include "protocol/json_fields.hpp"
#include "protocol/program.hpp"
#include "protocol/quote.hpp"
#include "protocol/upload_paths.hpp"
#include "protocol/workspace_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace kcoral::protocol {
namespace {

constexpr ErrorCode code = ErrorCode::bad_request;
constexpr int max_gpu_count = 8;

class InstructionParser {
  public:
    Result<Instruction> parse(Json json, const JsonPath& path);
    Result<void> finish() const { return upload_paths_.check(); }

  private:
    Result<Instruction> parse_upload(JsonFields& fields);
    Result<Instruction> parse_get_function(JsonFields& fields);
    Result<Instruction> parse_run(JsonFields& fields);
    Result<Instruction> parse_return(JsonFields& fields);

    Result<std::string> take_id(JsonFields& fields);
    Result<std::string> take_key(JsonFields& fields);
    Result<Reference> take_reference(JsonFields& fields, std::string_view name);
    Result<Reference> resolve(const Json& id, const JsonPath& path) const;
    Result<std::vector<Run::Argument>> take_arguments(JsonFields& fields);

    std::size_t index_ = 0;  // of the instruction being parsed
    // Ordered: no choice of names makes a look-up slow.
    std::map<std::string, std::size_t, std::less<>> ids_;
    std::set<std::string, std::less<>> keys_;
    UploadPaths upload_paths_;
};

// The id of a reference; null when the value is not an object whose only key is `$ref`.
const Json* referenced_id(const Json& json) {
    const JsonObject* object = json.object();
    return object && object->size() == 1 ? object->find("$ref") : nullptr;
}

std::string one_of(std::string_view got, std::string_view allowed) {
    return fmt::format("expected {}, got {}", allowed, quote(got));
}

Result<Digest> take_blob(JsonFields& fields) {
    TRY_ASSIGN(std::string text, fields.string("blob"));
    auto digest = Digest::from_hex(text);
    if (!digest) return fields.fail("blob", "expected 64 lowercase hexadecimal digits");
    return *digest;
}

Result<Dtype> take_dtype(JsonFields& fields) {
    TRY_ASSIGN(std::string name, fields.string("dtype"));
    auto dtype = dtype_from(name);
    if (!dtype)
        return fields.fail("dtype", one_of(name,
                                           "one of bool, uint8, int8, float8_e4m3fn, float8_e5m2, "
                                           "int16, float16, bfloat16, int32, float32, int64, "
                                           "float64"));
    return *dtype;
}

Result<std::vector<std::int64_t>> take_shape(JsonFields& fields) {
    TRY_ASSIGN(JsonArray array, fields.array("shape"));
    const JsonPath path = fields.path().child("shape");
    std::vector<std::int64_t> shape;
    shape.reserve(array.size());
    for (const Json& item : array) {
        const JsonPath at = path.item(shape.size());
        if (!item.integer()) return unexpected_kind(at, code, "an integer", item);
        auto dimension = item.integer()->to_int64();
        if (!dimension || *dimension < 0)
            return failure_at(at, code,
                              fmt::format("expected an integer from 0 to {}",
                                          std::numeric_limits<std::int64_t>::max()));
        shape.push_back(*dimension);
    }
    return shape;
}

Result<std::string> checked_path(JsonFields& fields, std::string_view text) {
    auto path = normalise_workspace_path(text);
    if (!path) return fields.fail("path", path.error().message);
    return std::move(*path);
}

Result<Instruction> InstructionParser::parse(Json json, const JsonPath& path) {
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), path, code));
    TRY_ASSIGN(std::string op, fields.string("op"));
    Result<Instruction> instruction =
        op == "upload"         ? parse_upload(fields)
        : op == "get_function" ? parse_get_function(fields)
        : op == "run"          ? parse_run(fields)
        : op == "return"       ? parse_return(fields)
                               : Result<Instruction>(fields.fail(
                               "op", one_of(op, "upload, get_function, run or return")));
    TRY(instruction);
    TRY(fields.done());
    ++index_;
    return instruction;
}

Result<Instruction> InstructionParser::parse_upload(JsonFields& fields) {
    TRY_ASSIGN(std::string kind, fields.string("kind"));
    if (kind == "module") {
        TRY_ASSIGN(std::string id, take_id(fields));
        TRY_ASSIGN(std::string source, fields.string("source"));
        return UploadModule{std::move(id), std::move(source)};
    }
    constexpr auto blob_kinds =
        std::to_array<std::string_view>({"tensor", "bytes", "library", "file"});
    if (std::ranges::find(blob_kinds, kind) == blob_kinds.end())
        return fields.fail("kind", one_of(kind, "module, tensor, bytes, library or file"));

    TRY_ASSIGN(std::string id, take_id(fields));
    TRY_ASSIGN(Digest blob, take_blob(fields));
    if (kind == "bytes") return UploadBytes{std::move(id), blob};
    if (kind == "library") return UploadLibrary{std::move(id), blob};
    if (kind == "tensor") {
        TRY_ASSIGN(Dtype dtype, take_dtype(fields));
        TRY_ASSIGN(std::vector<std::int64_t> shape, take_shape(fields));
        return UploadTensor{std::move(id), blob, dtype, std::move(shape)};
    }
    TRY_ASSIGN(std::string text, fields.string("path"));
    TRY_ASSIGN(std::string path, checked_path(fields, text));
    upload_paths_.add(index_, path);
    return UploadFile{std::move(id), blob, std::move(path)};
}

Result<Instruction> InstructionParser::parse_get_function(JsonFields& fields) {
    TRY_ASSIGN(Reference module, take_reference(fields, "module"));
    TRY_ASSIGN(std::string id, take_id(fields));
    TRY_ASSIGN(std::string name, fields.non_empty_string("name"));
    bool cpu_only = false;
    if (fields.has("cpu_only")) {
        TRY_ASSIGN(cpu_only, fields.boolean("cpu_only"));
    }
    return GetFunction{std::move(id), module, std::move(name), cpu_only};
}

Result<Instruction> InstructionParser::parse_run(JsonFields& fields) {
    TRY_ASSIGN(Reference function, take_reference(fields, "fn"));
    TRY_ASSIGN(std::vector<Run::Argument> arguments, take_arguments(fields));
    TRY_ASSIGN(std::string id, take_id(fields));
    return Run{std::move(id), function, std::move(arguments)};
}

Result<std::vector<Run::Argument>> InstructionParser::take_arguments(JsonFields& fields) {
    std::vector<Run::Argument> arguments;
    if (!fields.has("args")) return arguments;
    TRY_ASSIGN(JsonArray array, fields.array("args"));
    const JsonPath path = fields.path().child("args");
    arguments.reserve(array.size());
    for (Json& json : array) {
        if (const Json* id = referenced_id(json)) {
            TRY_ASSIGN(Reference to, resolve(*id, path.item(arguments.size())));
            arguments.emplace_back(to);
        } else {
            arguments.emplace_back(std::move(json));
        }
    }
    return arguments;
}

Result<Instruction> InstructionParser::parse_return(JsonFields& fields) {
    TRY_ASSIGN(std::string key, take_key(fields));
    if (!fields.has("kind") && !fields.has("path")) {
        TRY_ASSIGN(Reference value, take_reference(fields, "value"));
        return ReturnValue{std::move(key), value};
    }
    TRY_ASSIGN(std::string kind, fields.string("kind"));
    if (kind != "file" && kind != "folder")
        return fields.fail("kind", one_of(kind, "file or folder"));
    ReturnPath returned{std::move(key), kind == "file" ? PathKind::file : PathKind::folder, {}};
    TRY_ASSIGN(Json path, fields.any("path"));
    if (const Json* id = referenced_id(path)) {
        TRY_ASSIGN(returned.path, resolve(*id, fields.path().child("path")));
    } else if (path.string()) {
        TRY_ASSIGN(returned.path, checked_path(fields, *path.string()));
    } else {
        return unexpected_kind(fields.path().child("path"), code, "a string or a reference", path);
    }
    return returned;
}

// Takes the id of this instruction, which from here on may be referred to.
Result<std::string> InstructionParser::take_id(JsonFields& fields) {
    TRY_ASSIGN(std::string id, fields.non_empty_string("id"));
    auto [place, is_new] = ids_.try_emplace(id, index_);
    if (!is_new)
        return fields.fail("id", fmt::format("{} is the id of instructions[{}] already", quote(id),
                                             place->second));
    return id;
}

Result<std::string> InstructionParser::take_key(JsonFields& fields) {
    TRY_ASSIGN(std::string key, fields.non_empty_string("key"));
    if (!keys_.insert(key).second)
        return fields.fail("key",
                           fmt::format("{} is the key of an earlier return already", quote(key)));
    return key;
}

Result<Reference> InstructionParser::take_reference(JsonFields& fields, std::string_view name) {
    TRY_ASSIGN(Json json, fields.any(name));
    const JsonPath path = fields.path().child(name);
    const Json* id = referenced_id(json);
    if (!id) return unexpected_kind(path, code, R"(a reference, {"$ref": "<id>"})", json);
    return resolve(*id, path);
}

Result<Reference> InstructionParser::resolve(const Json& id, const JsonPath& path) const {
    const std::string* text = id.string();
    if (!text) return unexpected_kind(path.child("$ref"), code, "a string", id);
    auto found = ids_.find(*text);
    if (found == ids_.end())
        return failure_at(path.child("$ref"), code,
                          fmt::format("{} is not the id of an earlier instruction", quote(*text)));
    return Reference{found->second};
}

Result<Options> parse_options(Json json, const JsonPath& path) {
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(json), path, code));
    Options options;
    if (fields.has("timeout_seconds")) {
        TRY_ASSIGN(double seconds, fields.number("timeout_seconds"));
        if (!(seconds > 0)) return fields.fail("timeout_seconds", "expected a number above 0");
        // An integer beyond all doubles is finite, too.
        options.timeout_seconds = std::min(seconds, std::numeric_limits<double>::max());
    }
    if (fields.has("output_limit_bytes")) {
        TRY_ASSIGN(Integer bytes, fields.integer("output_limit_bytes"));
        if (bytes.negative())
            return fields.fail("output_limit_bytes", "expected an integer of at least 0");
        options.output_limit_bytes =
            bytes.to_uint64().value_or(std::numeric_limits<std::uint64_t>::max());
    }
    if (fields.has("gpu_count")) {
        TRY_ASSIGN(Integer count, fields.integer("gpu_count"));
        auto small = count.to_int64();
        if (!small || *small < 1 || *small > max_gpu_count)
            return fields.fail("gpu_count",
                               fmt::format("expected an integer from 1 to {}", max_gpu_count));
        options.gpu_count = static_cast<int>(*small);
    }
    TRY(fields.done());
    return options;
}

}  // namespace

Result<Program> parse_program(std::string_view json_text, ProgramLimits limits) {
    auto json = parse_json(json_text, limits.json);
    if (!json) return Failure(std::move(json.error()).within("program"));

    const JsonPath root("program", JsonPath::Root::hidden);
    TRY_ASSIGN(JsonFields fields, JsonFields::open(std::move(*json), root, code));
    TRY_ASSIGN(JsonArray instructions, fields.array("instructions"));
    if (instructions.empty()) return fields.fail("instructions", "expected at least one");
    if (instructions.size() > limits.max_instructions)
        return fields.fail("instructions",
                           fmt::format("expected at most {}, got {}", limits.max_instructions,
                                       instructions.size()));
    Program program;
    program.instructions.reserve(instructions.size());
    InstructionParser parser;
    const JsonPath path = root.child("instructions");
    for (Json& instruction : instructions) {
        const JsonPath at = path.item(program.instructions.size());
        TRY_ASSIGN(Instruction parsed, parser.parse(std::move(instruction), at));
        program.instructions.push_back(std::move(parsed));
    }
    TRY(parser.finish());
    if (fields.has("options")) {
        TRY_ASSIGN(Json options, fields.any("options"));
        TRY_ASSIGN(program.options, parse_options(std::move(options), root.child("options")));
    }
    TRY(fields.done());
    return program;
}

}  // namespace kcoral::protocol
