// What all instructions have in common, and the text of a program.
#include "protocol/program.hpp"

#include "protocol/json_writer.hpp"

#include <type_traits>

namespace kcoral::protocol {
namespace {

template <typename T>
concept Upload =
    std::same_as<T, UploadModule> || std::same_as<T, UploadTensor> ||
    std::same_as<T, UploadBytes> || std::same_as<T, UploadLibrary> || std::same_as<T, UploadFile>;

class ProgramWriter {
  public:
    explicit ProgramWriter(const Program& program) : program_(program) {}

    std::string write() && {
        json_.begin_object().key("instructions").begin_array();
        for (const Instruction& instruction : program_.instructions) {
            json_.begin_object().key("op").string(operation(instruction));
            std::visit([this](const auto& known) { fields(known); }, instruction);
            json_.end_object();
        }
        json_.end_array();
        if (program_.options != Options{}) options(program_.options);
        json_.end_object();
        return std::move(json_).take();
    }

  private:
    void text(std::string_view name, std::string_view value) { json_.key(name).string(value); }

    void reference(Reference to) {
        const std::string* id = instruction_id(program_.instructions.at(to.instruction));
        json_.begin_object().key("$ref").string(*id).end_object();
    }

    void fields(const UploadModule& upload) {
        text("kind", "module");
        text("id", upload.id);
        text("source", upload.source);
    }

    void fields(const UploadTensor& upload) {
        text("kind", "tensor");
        text("id", upload.id);
        text("blob", upload.blob.hex());
        text("dtype", to_string(upload.dtype));
        json_.key("shape").begin_array();
        for (std::int64_t dimension : upload.shape)
            json_.integer(dimension);
        json_.end_array();
    }

    void fields(const UploadBytes& upload) {
        text("kind", "bytes");
        text("id", upload.id);
        text("blob", upload.blob.hex());
    }

    void fields(const UploadLibrary& upload) {
        text("kind", "library");
        text("id", upload.id);
        text("blob", upload.blob.hex());
    }

    void fields(const UploadFile& upload) {
        text("kind", "file");
        text("id", upload.id);
        text("blob", upload.blob.hex());
        text("path", upload.path);
    }

    void fields(const GetFunction& get) {
        text("id", get.id);
        json_.key("module");
        reference(get.module);
        text("name", get.name);
        if (get.cpu_only) json_.key("cpu_only").boolean(true);
    }

    void fields(const Run& run) {
        text("id", run.id);
        json_.key("fn");
        reference(run.function);
        json_.key("args").begin_array();
        for (const Run::Argument& argument : run.arguments) {
            if (const Reference* to = std::get_if<Reference>(&argument))
                reference(*to);
            else
                json_.json(std::get<Json>(argument));
        }
        json_.end_array();
    }

    void fields(const ReturnValue& returned) {
        text("key", returned.key);
        json_.key("value");
        reference(returned.value);
    }

    void fields(const ReturnPath& returned) {
        text("key", returned.key);
        text("kind", returned.kind == PathKind::file ? "file" : "folder");
        json_.key("path");
        if (const Reference* to = std::get_if<Reference>(&returned.path))
            reference(*to);
        else
            json_.string(std::get<std::string>(returned.path));
    }

    void options(const Options& asked) {
        json_.key("options").begin_object();
        if (asked.timeout_seconds) json_.key("timeout_seconds").number(*asked.timeout_seconds);
        if (asked.output_limit_bytes)
            json_.key("output_limit_bytes").integer(*asked.output_limit_bytes);
        if (asked.gpu_count) json_.key("gpu_count").integer(*asked.gpu_count);
        json_.end_object();
    }

    const Program& program_;
    JsonWriter json_;
};

}  // namespace

std::string_view operation(const Instruction& instruction) {
    return std::visit(
        []<typename T>(const T&) -> std::string_view {
            if constexpr (Upload<T>)
                return "upload";
            else if constexpr (std::same_as<T, GetFunction>)
                return "get_function";
            else if constexpr (std::same_as<T, Run>)
                return "run";
            else
                return "return";
        },
        instruction);
}

const std::string* instruction_id(const Instruction& instruction) {
    return std::visit(
        [](const auto& known) -> const std::string* {
            if constexpr (requires { known.id; })
                return &known.id;
            else
                return nullptr;
        },
        instruction);
}

const std::string* return_key(const Instruction& instruction) {
    return std::visit(
        [](const auto& known) -> const std::string* {
            if constexpr (requires { known.key; })
                return &known.key;
            else
                return nullptr;
        },
        instruction);
}

std::string to_text(const Program& program) {
    return ProgramWriter(program).write();
}

}  // namespace kcoral::protocol
