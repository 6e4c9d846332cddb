// Program: what a client asks for, checked against every rule of the contract that needs nothing
// but its text.
//
// References are resolved: they hold the index of the earlier instruction. What depends on blobs or
// on the server's configuration is checked by program_blobs.hpp and options.hpp.
#pragma once

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "protocol/dtype.hpp"
#include "protocol/json.hpp"
#include "protocol/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kcoral::protocol {

// The value of an earlier instruction, by its index in Program::instructions.
struct Reference {
    std::size_t instruction = 0;

    bool operator==(const Reference&) const = default;
};

struct UploadModule {
    std::string id;
    std::string source;

    bool operator==(const UploadModule&) const = default;
};

struct UploadTensor {
    std::string id;
    Digest blob;
    Dtype dtype{};
    std::vector<std::int64_t> shape;  // none negative

    bool operator==(const UploadTensor&) const = default;
};

struct UploadBytes {
    std::string id;
    Digest blob;

    bool operator==(const UploadBytes&) const = default;
};

struct UploadLibrary {
    std::string id;
    Digest blob;

    bool operator==(const UploadLibrary&) const = default;
};

struct UploadFile {
    std::string id;
    Digest blob;
    std::string path;  // in normal form

    bool operator==(const UploadFile&) const = default;
};

struct GetFunction {
    std::string id;
    Reference module;
    std::string name;
    bool cpu_only = false;

    bool operator==(const GetFunction&) const = default;
};

struct Run {
    using Argument = std::variant<Reference, Json>;

    std::string id;
    Reference function;
    std::vector<Argument> arguments;

    bool operator==(const Run&) const = default;
};

struct ReturnValue {
    std::string key;
    Reference value;

    bool operator==(const ReturnValue&) const = default;
};

enum class PathKind { file, folder };

struct ReturnPath {
    std::string key;
    PathKind kind{};
    // In normal form; a referenced one is known, and checked, only when the program runs.
    std::variant<Reference, std::string> path;

    bool operator==(const ReturnPath&) const = default;
};

using Instruction = std::variant<UploadModule, UploadTensor, UploadBytes, UploadLibrary, UploadFile,
                                 GetFunction, Run, ReturnValue, ReturnPath>;

struct Program {
    std::vector<Instruction> instructions;
    Options options;

    bool operator==(const Program&) const = default;
};

// "upload", "get_function", "run" or "return".
std::string_view operation(const Instruction& instruction);
// Null for returns, which have a key instead.
const std::string* instruction_id(const Instruction& instruction);
// The key of a return; null for the others.
const std::string* return_key(const Instruction& instruction);

struct ProgramLimits {
    std::size_t max_instructions = 100'000;
    JsonLimits json;
};

// Every error is `bad_request` and begins with where it is: "instructions[3].args: expected an
// array, got a string".
Result<Program> parse_program(std::string_view json_text, ProgramLimits limits = {});

// The program part that parse_program reads back as the same program.
std::string to_text(const Program& program);

}  // namespace kcoral::protocol
