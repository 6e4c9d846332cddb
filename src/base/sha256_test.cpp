#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace kcoral {
namespace {

// FIPS 180-4 example vectors.
constexpr std::string_view empty_hex =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view abc_hex =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, GivesTheStandardsVectors) {
    EXPECT_EQ(Sha256::of({}).hex(), empty_hex);
    EXPECT_EQ(Sha256::of(as_bytes("abc")).hex(), abc_hex);
}

TEST(Sha256, PiecesHashLikeTheWholeAndFinishStartsAfresh) {
    Sha256 hasher;
    hasher.update(as_bytes("a"));
    hasher.update(as_bytes("bc"));
    EXPECT_EQ(hasher.finish().hex(), abc_hex);
    EXPECT_EQ(hasher.finish().hex(), empty_hex);
}

TEST(Digest, OnlyCanonicalHexIsADigest) {
    EXPECT_EQ(Digest::from_hex(abc_hex)->hex(), abc_hex);
    EXPECT_FALSE(Digest::from_hex(""));
    EXPECT_FALSE(Digest::from_hex(abc_hex.substr(1)));
    EXPECT_FALSE(Digest::from_hex(std::string(abc_hex) + "0"));
    std::string upper(abc_hex);
    upper[0] = 'B';
    EXPECT_FALSE(Digest::from_hex(upper));
    upper[0] = 'g';
    EXPECT_FALSE(Digest::from_hex(upper));
}

}  // namespace
}  // namespace kcoral
