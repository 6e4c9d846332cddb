#include "protocol/response_reader.hpp"

#include "protocol/multipart_writer.hpp"
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
using testing::read_in_pieces;

struct PartLog : PartSink {
    struct Seen {
        std::uint32_t index;
        std::optional<std::uint64_t> size;
        std::string data;
        bool ended = false;
        bool operator==(const Seen&) const = default;
    };
    std::vector<Seen> parts;

    Result<void> part_begin(std::uint32_t index, std::optional<std::uint64_t> size) override {
        parts.push_back({index, size, {}});
        return {};
    }
    Result<void> part_data(ByteView bytes) override {
        parts.back().data += as_text(bytes);
        return {};
    }
    Result<void> part_end() override {
        parts.back().ended = true;
        return {};
    }
};

constexpr const char* json_type = "application/json";
constexpr const char* octets = "application/octet-stream";

Digest digest_of(std::string_view text) {
    return Sha256::of(as_bytes(text));
}

// What the server would send of two binary values.
Execution execution() {
    return {.request_id = "r",
            .results = {{"b", Value(BytesValue{{0, 3, digest_of("abc")}})},
                        {"t", Value(TensorValue{Dtype::int16, {2}, {1, 4, digest_of("wxyz")}})}}};
}

struct Body {
    struct Part {
        std::string name;
        std::string type;
        std::string data;
    };
    std::vector<Part> parts;

    std::pair<std::string, std::string> build() const {
        std::vector<OutgoingPart> outgoing;
        for (const Part& part : parts)
            outgoing.push_back({part.name, part.type, part.data.size()});
        MultipartFrame frame(outgoing);
        std::string body;
        for (std::size_t i = 0; i < parts.size(); ++i)
            body += frame.head(i) + parts[i].data;
        return {frame.content_type(), body + frame.closing()};
    }
};

Body whole_body() {
    return {{{"result", json_type, to_text(execution())},
             {"return:0", octets, "abc"},
             {"return:1", octets, "wxyz"}}};
}

Result<Response> read(const Body& body, PartLog& log, int status = 200, std::size_t piece = 17) {
    auto [type, text] = body.build();
    TRY_ASSIGN(auto reader, ResponseReader::create(status, type, log));
    return read_in_pieces(*reader, text, piece);
}

Result<Response> read_json(std::string_view text, int status = 200,
                           std::string_view type = json_type) {
    PartLog log;
    TRY_ASSIGN(auto reader, ResponseReader::create(status, type, log));
    return read_in_pieces(*reader, text, 5);
}

TEST(ResponseReader, ReadsDocumentsWithoutParts) {
    Execution plain{.request_id = "r", .results = {{"x", Value(true)}}};
    EXPECT_EQ(read_json(to_text(plain)).value(), Response(plain));
    EXPECT_EQ(read_json(to_text(plain), 200, "Application/JSON; charset=utf-8").value(),
              Response(plain));
    CacheMiss miss{"r", {digest_of("x")}};
    EXPECT_EQ(read_json(to_text(miss)).value(), Response(miss));
    ErrorReply reply{"r", ErrorKind::busy, "later"};
    EXPECT_EQ(read_json(to_text(reply), 503).value(), Response(reply));
}

TEST(ResponseReader, HandsOutPartsAndLearnsTheirSizes) {
    for (std::size_t piece : {1, 2, 100, 100'000}) {
        PartLog log;
        auto response = read(whole_body(), log, 200, piece);
        ASSERT_TRUE(response) << message_of(response);
        EXPECT_EQ(std::get<Execution>(*response), execution());
        EXPECT_THAT(log.parts, ElementsAre(PartLog::Seen{0, std::nullopt, "abc", true},
                                           PartLog::Seen{1, 4, "wxyz", true}));
    }
}

TEST(ResponseReader, RefusesEveryBrokenPromise) {
    struct Row {
        std::string_view message;
        void (*spoil)(Body&);
    };
    const Row rows[] = {
        {"the part \"return:1\" is missing", [](Body& body) { body.parts.pop_back(); }},
        {"no value names the part \"return:2\"",
         [](Body& body) { body.parts.push_back({"return:2", octets, ""}); }},
        {"expected the part \"return:0\", got \"return:1\"",
         [](Body& body) { std::swap(body.parts[1], body.parts[2]); }},
        {"expected the part \"result\", got \"return:0\"",
         [](Body& body) { std::swap(body.parts[0], body.parts[1]); }},
        {"must be application/octet-stream", [](Body& body) { body.parts[1].type = json_type; }},
        {"must be application/json", [](Body& body) { body.parts[0].type = octets; }},
        {"digest of the part \"return:0\"", [](Body& body) { body.parts[1].data = "abd"; }},
        {"digest of the part \"return:0\"", [](Body& body) { body.parts[1].data = "abcd"; }},
        {"digest of the part \"return:1\"", [](Body& body) { body.parts[2].data = "wxyy"; }},
        {"\"return:1\" has 3 bytes, not 4", [](Body& body) { body.parts[2].data = "wxy"; }},
        {"\"return:1\" has more than its 4 bytes",
         [](Body& body) { body.parts[2].data = "wxyz!"; }},
        {"no part \"result\"", [](Body& body) { body.parts.clear(); }},
        {"its values name no parts",
         [](Body& body) {
             body.parts.resize(1);
             body.parts[0].data = to_text(Execution{});
         }},
        {"column", [](Body& body) { body.parts[0].data += "}"; }},
    };
    for (const Row& row : rows) {
        Body body = whole_body();
        row.spoil(body);
        PartLog log;
        auto response = read(body, log);
        ASSERT_FALSE(response) << row.message;
        EXPECT_EQ(response.error().code, ErrorCode::protocol);
        EXPECT_THAT(response.error().message, HasSubstr(row.message));
    }
}

TEST(ResponseReader, RefusesBodiesThatAreCutShort) {
    auto [type, text] = whole_body().build();
    for (std::size_t length = 0; length < text.size() - 2; ++length) {
        PartLog log;
        auto reader = ResponseReader::create(200, type, log);
        auto response = read_in_pieces(**reader, text.substr(0, length), 50);
        ASSERT_FALSE(response) << length;
        EXPECT_EQ(response.error().code, ErrorCode::protocol);
    }
}

TEST(ResponseReader, RefusesDocumentsThatDoNotFitTheResponse) {
    std::string completed = to_text(Execution{});
    std::string error = to_text(ErrorReply{"r", ErrorKind::engine, "m"});
    EXPECT_THAT(message_of(read_json(completed, 500)), HasSubstr("HTTP status 500"));
    EXPECT_THAT(message_of(read_json(error, 200)), HasSubstr("HTTP status 200"));
    EXPECT_TRUE(read_json(error, 404));
    EXPECT_THAT(message_of(read_json(to_text(execution()))), HasSubstr("it is not multipart"));
    EXPECT_THAT(message_of(read_json("<html>", 502, "text/html")),
                HasSubstr("HTTP status 502 with Content-Type \"text/html\""));
    EXPECT_THAT(message_of(read_json("", 200, "multipart/form-data")), HasSubstr("boundary"));
    EXPECT_EQ(read_json("", 200, "").error().code, ErrorCode::protocol);
}

TEST(ResponseReader, BoundsTheDocumentOnBothSides) {
    std::string text = to_text(Execution{});
    for (std::size_t spare : {0, 1}) {
        PartLog log;
        auto reader = ResponseReader::create(200, json_type, log,
                                             {.max_document_bytes = text.size() - spare});
        auto response = read_in_pieces(**reader, text, 7);
        EXPECT_EQ(message_of(response).find("larger than") == std::string::npos, spare == 0);
    }
}

TEST(ResponseReader, PassesOnTheErrorsOfItsSink) {
    struct Refusing : PartLog {
        Result<void> part_data(ByteView) override { return failure(ErrorCode::io, "disk full"); }
    } log;
    EXPECT_EQ(read(whole_body(), log).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace kcoral::protocol
