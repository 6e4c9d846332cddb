#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace kcoral {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return failure(ErrorCode::bad_request, "odd");
    return number / 2;
}

Result<int> quarter(int number) {
    TRY_ASSIGN(int first, half(number));
    TRY(half(first));
    return half(first);
}

TEST(Error, TryPassesValuesOnAndLeavesWithTheFirstError) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_EQ(quarter(6).error().message, "odd");
    EXPECT_EQ(quarter(7).error().code, ErrorCode::bad_request);
}

TEST(Error, TryAssignMovesMoveOnlyValues) {
    auto take = [](Result<std::unique_ptr<int>> from) -> Result<int> {
        TRY_ASSIGN(std::unique_ptr<int> pointer, std::move(from));
        return *pointer;
    };
    EXPECT_EQ(take(std::make_unique<int>(5)).value(), 5);
}

TEST(Error, ErrnoBecomesACodeThatSaysWhatToDo) {
    EXPECT_EQ(system_error("open", ENOENT).code, ErrorCode::not_found);
    EXPECT_EQ(system_error("read", EAGAIN).code, ErrorCode::busy);
    EXPECT_EQ(system_error("write", EPIPE).code, ErrorCode::closed);
    EXPECT_EQ(system_error("write", ENOSPC).code, ErrorCode::io);
    EXPECT_EQ(system_error("open x", ENOENT).message, "open x: No such file or directory");
}

TEST(Error, ContextIsPutInFrontOfTheMessage) {
    EXPECT_EQ(Error(ErrorCode::io, "disk full").within("writing the log").message,
              "writing the log: disk full");
}

}  // namespace
}  // namespace kcoral
