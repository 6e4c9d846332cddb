#include "worker/payload.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

namespace kcoral::worker {
namespace {

TEST(PayloadTest, PartsLieOneAfterTheOtherInASealedFile) {
    Fd source = make_memory_file("source").value();
    ASSERT_TRUE(write_all(source, as_bytes("from a file")));
    Payload payload(100);
    ASSERT_TRUE(payload.append(as_bytes("first ")));
    ASSERT_TRUE(payload.append_file(source, 4));
    ASSERT_TRUE(payload.append({}));
    EXPECT_EQ(payload.size(), 10u);
    auto file = std::move(payload).finish().value();
    ASSERT_TRUE(file);
    EXPECT_EQ(read_file(*file).value(), "first from");
    EXPECT_TRUE(::fcntl(file->get(), F_GET_SEALS) & F_SEAL_WRITE);
}

TEST(PayloadTest, WithoutPartsThereIsNoFileAndWithAnEmptyOneThereIs) {
    EXPECT_FALSE(Payload(0).finish().value());
    Payload payload(0);
    ASSERT_TRUE(payload.append({}));
    EXPECT_TRUE(std::move(payload).finish().value());
}

TEST(PayloadTest, TheLimitIsTheLastSizeThatFits) {
    Payload payload(10);
    ASSERT_TRUE(payload.append(as_bytes("12345")));
    ASSERT_TRUE(payload.append(as_bytes("67890")));
    EXPECT_EQ(payload.append(as_bytes("x")).error().code, ErrorCode::too_large);
    EXPECT_EQ(payload.size(), 10u);
}

TEST(PayloadTest, AFileThatIsShorterThanItsSizeIsAnError) {
    Fd source = make_memory_file("source").value();
    ASSERT_TRUE(write_all(source, as_bytes("short")));
    EXPECT_EQ(Payload(100).append_file(source, 6).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace kcoral::worker
