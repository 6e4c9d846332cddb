#include "protocol/request_reader.hpp"

#include "protocol/testing/messages.hpp"
#include "protocol/testing/multipart_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Pair;
using testing::read_in_pieces;

const std::string a(64, 'a');
const std::string b(64, 'b');

struct BlobLog : BlobSink {
    std::vector<std::pair<std::string, std::string>> blobs;
    std::size_t ended = 0;

    Result<void> blob_begin(const Digest& digest) override {
        blobs.emplace_back(digest.hex(), "");
        return {};
    }
    Result<void> blob_data(ByteView bytes) override {
        blobs.back().second += as_text(bytes);
        return {};
    }
    Result<void> blob_end() override {
        ++ended;
        return {};
    }
};

std::string part(std::string_view name, std::string_view type, std::string_view data) {
    return fmt::format(
        "--XX\r\nContent-Disposition: form-data; name=\"{}\"\r\nContent-Type: {}\r\n\r\n{}\r\n",
        name, type, data);
}

std::string program(std::string_view text = "{}") {
    return part("program", "application/json", text);
}

std::string blob(std::string_view digest, std::string_view data = "data") {
    return part("blob:" + std::string(digest), "application/octet-stream", data);
}

Result<std::string> read(const std::string& parts, BlobLog& log, RequestLimits limits = {}) {
    RequestReader reader("XX", limits, log);
    return read_in_pieces(reader, parts + "--XX--\r\n", 11);
}

TEST(RequestReader, CollectsTheProgramAndHandsOnBlobs) {
    BlobLog log;
    auto text = read(blob(a, "") + program("{\"x\": 1}") + blob(b, "second"), log);
    ASSERT_TRUE(text) << message_of(text);
    EXPECT_EQ(*text, "{\"x\": 1}");
    EXPECT_THAT(log.blobs, ElementsAre(Pair(a, ""), Pair(b, "second")));
    EXPECT_EQ(log.ended, 2u);
}

TEST(RequestReader, RefusesOtherParts) {
    struct Row {
        std::string parts;
        std::string_view message;
    };
    for (const auto& [parts, message] : {
             Row{"", "no part named \"program\""},
             Row{blob(a), "no part named \"program\""},
             Row{program() + program(), "\"program\" is there twice"},
             Row{program() + blob(a) + blob(b) + blob(a), "is there twice"},
             Row{program() + part("file", "text/plain", ""), "not \"file\""},
             Row{part("Program", "application/json", ""), "not \"Program\""},
             Row{part("blob", "application/octet-stream", ""), "not \"blob\""},
             Row{part("program", "text/json", "{}"), "must be application/json, not"},
             Row{part("program", "application/octet-stream", "{}"), "must be"},
             Row{part("blob:" + a, "application/json", "{}"), "must be"},
             Row{blob(""), "64 lowercase"},
             Row{blob(std::string(63, 'a')), "64 lowercase"},
             Row{blob(std::string(65, 'a')), "64 lowercase"},
             Row{blob(std::string(64, 'A')), "64 lowercase"},
             Row{blob(std::string(64, 'g')), "64 lowercase"},
         }) {
        BlobLog log;
        auto text = read(parts, log);
        ASSERT_FALSE(text) << parts;
        EXPECT_EQ(text.error().code, ErrorCode::bad_request);
        EXPECT_THAT(text.error().message, HasSubstr(message)) << parts;
    }
}

TEST(RequestReader, BoundsTheProgramOnBothSides) {
    BlobLog log;
    std::string text(100, ' ');
    EXPECT_TRUE(read(program(text), log, {.max_program_bytes = 100}));
    auto refused = read(program(text), log, {.max_program_bytes = 99});
    EXPECT_EQ(refused.error().code, ErrorCode::too_large);
}

TEST(RequestReader, PassesOnTheErrorsOfItsSink) {
    struct Refusing : BlobLog {
        Result<void> blob_begin(const Digest&) override {
            return failure(ErrorCode::too_large, "no room");
        }
    } sink;
    RequestReader reader("XX", {}, sink);
    EXPECT_EQ(reader.feed(as_bytes(blob(a))).error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace kcoral::protocol
