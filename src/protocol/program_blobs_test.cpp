#include "protocol/program_blobs.hpp"

#include "protocol/testing/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace kcoral::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

Digest digest(std::string_view text) {
    return Sha256::of(as_bytes(text));
}

const Digest a = digest("a"), b = digest("b"), c = digest("c");

TEST(ProgramBlobs, AreListedInOrderOfFirstReferenceWithTheirCaches) {
    Program program{
        {UploadModule{"m", ""}, UploadFile{"f", b, "f"}, UploadBytes{"x", a},
         UploadTensor{"t", a, Dtype::int8, {1}}, UploadLibrary{"l", c}, UploadFile{"g", a, "g"}},
        {}};
    EXPECT_THAT(required_blobs(program),
                ElementsAre(RequiredBlob{b, false, true}, RequiredBlob{a, true, true},
                            RequiredBlob{c, true, false}));
}

TEST(ProgramBlobs, RefusesOnesThatNoUploadRefersTo) {
    Program program{{UploadBytes{"x", a}, UploadBytes{"y", b}}, {}};
    auto required = required_blobs(program);
    EXPECT_TRUE(check_supplied(required, {}));
    EXPECT_TRUE(check_supplied(required, std::vector{b, a}));
    auto refused = check_supplied(required, std::vector{a, c});
    EXPECT_EQ(refused.error().code, ErrorCode::bad_request);
    EXPECT_THAT(refused.error().message, HasSubstr("unreferenced"));
    EXPECT_THAT(refused.error().message, HasSubstr(c.hex()));
}

TEST(ProgramBlobs, MustHaveTheLengthTheirTensorsExpect) {
    Program program{{UploadBytes{"x", b}, UploadTensor{"t", a, Dtype::float32, {2, 3}}}, {}};
    auto check = [&](std::optional<std::uint64_t> size) {
        return check_tensor_sizes(program, [&](const Digest& blob) {
            return blob == a ? size : std::optional<std::uint64_t>(7);
        });
    };
    EXPECT_TRUE(check(24));
    EXPECT_TRUE(check(std::nullopt));
    EXPECT_EQ(
        message_of(check(23)),
        "instructions[1].blob: a float32 tensor of shape [2, 3] expects 24 bytes, the blob has "
        "23");
    EXPECT_FALSE(check(25));
}

TEST(ProgramBlobs, CannotBeAsLargeAsSomeShapes) {
    std::int64_t huge = std::int64_t{1} << 62;
    auto unknown = [](const Digest&) { return std::nullopt; };
    Program program{{UploadTensor{"t", a, Dtype::int8, {huge, 4}}}, {}};
    EXPECT_THAT(message_of(check_tensor_sizes(program, unknown)),
                HasSubstr("expects more than 2^64 bytes"));
    Program empty{{UploadTensor{"t", a, Dtype::int8, {huge, 4, 0}}}, {}};
    EXPECT_TRUE(check_tensor_sizes(empty, unknown));
    Program many{{UploadTensor{"t", a, Dtype::int8, std::vector<std::int64_t>(10'000, 1)}}, {}};
    EXPECT_THAT(message_of(check_tensor_sizes(many, [](const Digest&) { return 5; })),
                HasSubstr("with 10000 dimensions expects 1 bytes"));
}

}  // namespace
}  // namespace kcoral::protocol
