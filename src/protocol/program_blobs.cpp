// Walks over the uploads of a program.
#include "protocol/program_blobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

namespace kcoral::protocol {
namespace {

// The blob of an upload; null for instructions that have none.
const Digest* blob_of(const Instruction& instruction) {
    return std::visit(
        [](const auto& known) -> const Digest* {
            if constexpr (requires { known.blob; })
                return &known.blob;
            else
                return nullptr;
        },
        instruction);
}

std::string describe_shape(const std::vector<std::int64_t>& shape) {
    constexpr std::size_t longest = 16;
    if (shape.size() > longest) return fmt::format("with {} dimensions", shape.size());
    return fmt::format("of shape [{}]", fmt::join(shape, ", "));
}

}  // namespace

std::vector<RequiredBlob> required_blobs(const Program& program) {
    std::vector<RequiredBlob> required;
    std::map<Digest, std::size_t> places;
    for (const Instruction& instruction : program.instructions) {
        const Digest* digest = blob_of(instruction);
        if (!digest) continue;
        auto [place, is_new] = places.try_emplace(*digest, required.size());
        if (is_new) required.push_back({.digest = *digest});
        RequiredBlob& blob = required[place->second];
        (std::holds_alternative<UploadFile>(instruction) ? blob.file : blob.memory) = true;
    }
    return required;
}

Result<void> check_supplied(std::span<const RequiredBlob> required,
                            std::span<const Digest> supplied) {
    std::set<Digest> known;
    for (const RequiredBlob& blob : required)
        known.insert(blob.digest);
    for (const Digest& digest : supplied)
        if (!known.contains(digest))
            return failure(ErrorCode::bad_request,
                           fmt::format("the part \"blob:{}\" is unreferenced: no upload of the "
                                       "program names it",
                                       digest.hex()));
    return {};
}

Result<void> check_tensor_sizes(const Program& program, const SizeOfBlob& size_of) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const auto* tensor = std::get_if<UploadTensor>(&program.instructions[i]);
        if (!tensor) continue;
        auto expected = tensor_bytes(tensor->dtype, tensor->shape);
        auto size = size_of(tensor->blob);
        if (expected && (!size || *size == *expected)) continue;
        return failure(ErrorCode::bad_request,
                       fmt::format("instructions[{}].blob: a {} tensor {} expects {} bytes{}", i,
                                   to_string(tensor->dtype), describe_shape(tensor->shape),
                                   expected ? std::to_string(*expected) : "more than 2^64",
                                   size ? fmt::format(", the blob has {}", *size) : ""));
    }
    return {};
}

}  // namespace kcoral::protocol
