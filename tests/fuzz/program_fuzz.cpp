// JSON and programs. Input: the text.
//
// What is accepted has one text, and that text is accepted as the same value, the same program.
#include "base/utf8.hpp"
#include "check.hpp"
#include "protocol/json.hpp"
#include "protocol/program.hpp"
#include "protocol/program_blobs.hpp"

namespace kcoral::fuzz {
namespace {

using namespace protocol;

void run_json(std::string_view text) {
    auto value = parse_json(text);
    if (!value) {
        check(is_utf8(value.error().message), "messages are UTF-8");
        return;
    }
    check(is_utf8(text), "only UTF-8 is accepted");
    std::string written = to_text(*value);
    auto again = parse_json(written);
    check(again.has_value(), "what we write is strict JSON");
    check(*again == *value, "what we write has the same value");
    check(to_text(*again) == written, "a value has one text");
}

void run_program(std::string_view text) {
    auto program = parse_program(text, {.max_instructions = 50});
    if (!program) {
        check(program.error().code == ErrorCode::bad_request, "a bad program is a bad request");
        check(is_utf8(program.error().message), "messages are UTF-8");
        check(program.error().message.size() < 20'000, "messages are not long");
        return;
    }
    auto again = parse_program(to_text(*program));
    check(again.has_value(), "a program we write is a program");
    check(*again == *program, "a program we write is the same program");

    auto required = required_blobs(*program);
    std::vector<Digest> digests;
    for (const RequiredBlob& blob : required) {
        check(blob.memory || blob.file, "a cache serves each blob");
        digests.push_back(blob.digest);
    }
    check(check_supplied(required, digests).has_value(), "required blobs are referenced");
    (void)check_tensor_sizes(*program, [](const Digest&) { return 4; });
    ResolvedOptions options = resolve_options(program->options, {});
    check(options.timeout.count() > 0 && options.timeout <= std::chrono::seconds(900),
          "timeouts are clamped");
    (void)check_gpu_capacity(program->options, 2);
}

}  // namespace
}  // namespace kcoral::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    kcoral::fuzz::run_json(text);
    kcoral::fuzz::run_program(text);
    return 0;
}
