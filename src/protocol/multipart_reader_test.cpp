#include "protocol/multipart_reader.hpp"

#include "protocol/testing/messages.hpp"
#include "protocol/testing/multipart_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using testing::message_of;
using testing::MultipartLog;
using testing::read_in_pieces;
using testing::repeat;
using testing::SeenPart;

struct Read {
    std::vector<SeenPart> parts;
    std::string message;

    bool operator==(const Read&) const = default;
};

Read read(std::string_view body, std::size_t piece, std::size_t first = 0,
          MultipartLimits limits = {}) {
    MultipartLog log;
    MultipartReader reader("XX", limits, log);
    Result<void> result = read_in_pieces(reader, body, piece, first);
    return {std::move(log.parts), message_of(result)};
}

// Reads the body whole, and checks that cut into pieces of any size, or in two anywhere, it reads
// the same.
Read read(std::string_view body) {
    Read whole = read(body, body.size());
    for (std::size_t piece = 1; piece < std::min<std::size_t>(body.size(), 40); ++piece)
        EXPECT_EQ(read(body, piece), whole) << "in pieces of " << piece << " bytes: " << body;
    for (std::size_t cut = 1; cut < body.size(); ++cut)
        EXPECT_EQ(read(body, body.size(), cut), whole) << "cut at " << cut << ": " << body;
    return whole;
}

std::string crlf(std::string_view text) {
    std::string converted;
    for (char c : text)
        converted += c == '\n' ? "\r\n"s : std::string(1, c);
    return converted;
}

constexpr std::string_view head =
    "Content-Disposition: form-data; name=\"a\"\nContent-Type: text/plain\n\n";

std::string one_part(std::string_view data) {
    return "--XX\r\n" + crlf(head) + std::string(data) + "\r\n--XX--\r\n";
}

TEST(MultipartReader, GivesEachPartItsBytes) {
    for (bool with_cr : {true, false}) {
        std::string text =
            "--XX\n"
            "Content-Disposition: form-data; name=\"a\"\n"
            "Content-Type: text/plain\n"
            "\n"
            "first\n"
            "--XX\n"
            "content-type:  Application/JSON ; charset=utf-8 \n"
            "X-Other: ignored\n"
            "CONTENT-DISPOSITION: Form-Data; filename=\"x;y\\\".txt\"; NAME=b\n"
            "Content-Transfer-Encoding: BINARY\n"
            "\n"
            "\n"
            "--XX--\n";
        Read result = read(with_cr ? crlf(text) : text);
        EXPECT_EQ(result.message, "no error");
        EXPECT_EQ(result.parts,
                  (std::vector<SeenPart>{{{"a", "text/plain", std::nullopt}, "first", true},
                                         {{"b", "application/json", "x;y\".txt"}, "", true}}));
    }
}

TEST(MultipartReader, KeepsDataThatOnlyLooksLikeADelimiter) {
    for (std::string data : {""s,
                             "\r"s,
                             "\n"s,
                             "\r\n"s,
                             "\r\r"s,
                             "\n\r"s,
                             "x\r"s,
                             "\r\n-"s,
                             "\r\n--"s,
                             "\r\n--X"s,
                             "--XX"s,
                             "--XX--"s,
                             "\r\n--XY"s,
                             "\r\n--XXY"s,
                             "\r\n--XX-"s,
                             "\r\n--XX-\r\n"s,
                             "\r\n--XX--x"s,
                             "\r\n--XX x\r\n"s,
                             "\r\n--XX\rx"s,
                             "\r\n--XX\r\r\n"s,
                             "\r\n --XX\r\n"s,
                             "\r\r\n--X"s,
                             "\n\n--X"s,
                             "\r\n\r\n--X"s,
                             "\r\n--XX\r"s,
                             "\r\n--XX-\r"s,
                             "\r\n--XX" + repeat(" ", 300) + "\r\n",
                             "\0\xFF\r\n"s,
                             "\r\n--XX\r\r"s}) {
        // At the very beginning of data a line begins, too: there, a whole delimiter line ends it.
        std::string padded = "x" + data;
        Read result = read(one_part(padded));
        EXPECT_EQ(result.message, "no error") << padded;
        ASSERT_EQ(result.parts.size(), 1u) << padded;
        EXPECT_EQ(result.parts[0].data, padded);
    }
    Read result = read(one_part("--XY\r\n"));
    EXPECT_EQ(result.parts[0].data, "--XY\r\n");
}

TEST(MultipartReader, KeepsACarriageReturnBeforeTheDelimiterWhereLinesEndInLineFeed) {
    std::string part = "--XX\n" + std::string(head);
    Read result = read(part + "data\r\n--XX--\n");
    EXPECT_EQ(result.parts[0].data, "data\r");
    EXPECT_EQ(read(part + "\r\r\n--XX--\n").parts[0].data, "\r\r");
    // Where they end in both, the carriage return belongs to the line end.
    EXPECT_EQ(read("--XX\r\n" + crlf(head) + "data\r\n--XX--\n").parts[0].data, "data");
    EXPECT_EQ(read("--XX\r\n" + crlf(head) + "data\n--XX--\n").parts[0].data, "data");
}

TEST(MultipartReader, ToleratesWhatStandsAroundTheParts) {
    for (const std::string& body : {
             "preamble\r\n--XXX\r\nmore--XX\r\n" + one_part("d") + "epilogue\r\n--XX\r\n",
             "\r\n" + one_part("d"),
             "--XX \t\r\n" + crlf(head) + "d\r\n--XX-- \t\r\n",
             "--XX\r\n" + crlf(head) + "d\r\n--XX--",
             "--XX\r\n" + crlf(head) + "d\r\n--XX-- \r",
             "--XX\r\nContent-Disposition: form-data;\r\n\tname=a;\r\nContent-Type:\r\n "
             "text/plain\r\n\r\nd\r\n--XX--\r\n"s,
         }) {
        Read result = read(body);
        EXPECT_EQ(result.message, "no error") << body;
        EXPECT_EQ(result.parts,
                  (std::vector<SeenPart>{{{"a", "text/plain", std::nullopt}, "d", true}}))
            << body;
    }
    EXPECT_EQ(read("--XX--").message, "no error");
    // A part whose head is followed by the delimiter at once has no data.
    EXPECT_EQ(read("--XX\r\n" + crlf(head) + "--XX--").parts[0],
              (SeenPart{{"a", "text/plain", std::nullopt}, "", true}));
}

TEST(MultipartReader, RefusesBodiesWithoutTheirEnd) {
    struct Row {
        std::string body;
        std::string_view message;
    };
    for (const auto& [body, message] : {
             Row{"", "before any part, without its closing boundary \"--XX--\""},
             Row{"--XXX--\r\n", "before any part"},
             Row{"--XX", "before any part"},
             Row{"x--XX--\r\n", "before any part"},
             Row{"--XX\r\n", "within a part's header"},
             Row{"--XX\r\n" + crlf(head).substr(0, 50), "within a part's header"},
             Row{"--XX\r\n" + crlf(head) + "data", "within a part's data"},
             Row{"--XX\r\n" + crlf(head) + "data\r\n--XX", "within a part's data"},
             Row{"--XX\r\n" + crlf(head) + "data\r\n--XX-", "within a part's data"},
             Row{"--XX\r\n" + crlf(head) + "data\r\n--XX--x", "within a part's data"},
             Row{"--XX\r\n" + crlf(head) + "data\r\n--XX\r\n", "within a part's header"},
         })
        EXPECT_THAT(read(body).message, HasSubstr(message)) << body;
}

TEST(MultipartReader, RefusesHeadsThatBreakARule) {
    constexpr std::string_view name = "Content-Disposition: form-data; name=a\n";
    constexpr std::string_view type = "Content-Type: text/plain\n";
    struct Row {
        std::string lines;
        std::string_view message;
    };
    for (const auto& [lines, message] : {
             Row{"", "no Content-Disposition"},
             Row{std::string(name), "no Content-Type"},
             Row{std::string(type), "no Content-Disposition"},
             Row{std::string(name) + std::string(name) + std::string(type),
                 "two Content-Disposition headers"},
             Row{std::string(name) + std::string(type) + std::string(type),
                 "two Content-Type headers"},
             Row{"Content-Disposition: attachment; name=a\n" + std::string(type),
                 "must be form-data, not \"attachment\""},
             Row{"Content-Disposition: form-data\n" + std::string(type), "one name"},
             Row{"Content-Disposition: form-data; name=\n" + std::string(type), "one name"},
             Row{"Content-Disposition: form-data; name=\"\"\n" + std::string(type), "one name"},
             Row{"Content-Disposition: form-data; name=a; Name=b\n" + std::string(type),
                 "one name"},
             Row{"Content-Disposition: form-data; name=\"a\n" + std::string(type),
                 "no closing quote"},
             Row{"Content-Disposition: form-data; name=\"a\"b\n" + std::string(type),
                 "expected ';'"},
             Row{"Content-Disposition: form-data; name\n" + std::string(type), "name=value"},
             Row{std::string(name) + "Content-Type: \n", "media type"},
             Row{std::string(name) + "Content-Type: text\n", "media type"},
             Row{std::string(name) + "Content-Type: text/plain/x\n", "media type"},
             Row{std::string(name) + "Content-Type: Multipart/Mixed; boundary=YY\n",
                 "multipart itself"},
             Row{std::string(name) + std::string(type) + "Content-Transfer-Encoding: base64\n",
                 "binary or 8bit, not \"base64\""},
             Row{std::string(name) + std::string(type) + "Content-Transfer-Encoding:\n",
                 "binary or 8bit"},
             Row{std::string(name) + std::string(type) +
                     "Content-Transfer-Encoding: 8bit\nContent-Transfer-Encoding: 8bit\n",
                 "two Content-Transfer-Encoding"},
             Row{"no colon\n", "name: value"},
             Row{": x\n", "name: value"},
             Row{"a b: x\n", "name: value"},
             Row{"--XX--\n", "name: value"},
             Row{"A: \x01\n", "control character"},
             Row{"A: x\0y\n"s, "control character"},
             Row{"A: x\ry\n", "control character"},
         }) {
        Read result = read("--XX\r\n" + crlf(lines) + "\r\ndata\r\n--XX--\r\n");
        EXPECT_THAT(result.message, HasSubstr(message)) << lines;
        EXPECT_TRUE(result.parts.empty());
    }
    for (std::string_view encoding : {"binary", "8bit", "8BIT"})
        EXPECT_EQ(read("--XX\n" + std::string(name) + std::string(type) +
                       "Content-Transfer-Encoding: " + std::string(encoding) + "\n\n\n--XX--")
                      .message,
                  "no error");
}

TEST(MultipartReader, BoundsHeadersAndPartsOnBothSides) {
    std::string body = one_part("d");
    std::size_t header_bytes = crlf(head).size();
    for (std::size_t piece : {std::size_t{1}, std::size_t{7}, body.size()}) {
        EXPECT_EQ(read(body, piece, 0, {.max_header_bytes = header_bytes}).message, "no error");
        EXPECT_THAT(read(body, piece, 0, {.max_header_bytes = header_bytes - 1}).message,
                    HasSubstr("larger than"));
        EXPECT_EQ(read(body, piece, 0, {.max_parts = 1}).message, "no error");
        EXPECT_THAT(read(body, piece, 0, {.max_parts = 0}).message, HasSubstr("more than 0 parts"));
    }
}

TEST(MultipartReader, PassesOnTheErrorsOfItsSink) {
    class Refusing : public MultipartLog {
        Result<void> part_data(ByteView) override { return failure(ErrorCode::io, "disk full"); }
    } sink;
    MultipartReader reader("XX", {}, sink);
    auto result = reader.feed(as_bytes(one_part("data")));
    EXPECT_EQ(result.error().code, ErrorCode::io);
}

TEST(MultipartReader, HandsOutLongDataInOnePiece) {
    class Counting : public MultipartLog {
      public:
        int calls = 0;
        Result<void> part_data(ByteView bytes) override {
            ++calls;
            return MultipartLog::part_data(bytes);
        }
    } sink;
    std::string data = repeat("0123456789\r\n", 100'000);
    MultipartReader reader("XX", {}, sink);
    ASSERT_TRUE(reader.feed(as_bytes(one_part(data))));
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(sink.calls, 1);
    EXPECT_EQ(sink.parts[0].data, data);
}

TEST(ContentType, TellsTheBoundary) {
    struct Row {
        std::string_view header;
        std::string_view boundary;
    };
    for (auto [header, boundary] : {
             Row{"multipart/form-data; boundary=abc", "abc"},
             Row{"Multipart/Form-Data;BOUNDARY=aBc", "aBc"},
             Row{"multipart/form-data; charset=utf-8; boundary=\"a b;c\"; x=y", "a b;c"},
             Row{"multipart/form-data ; boundary = \"a\\\"b\" ", "a\"b"},
             Row{"multipart/form-data; boundary=----x/y=z:1'()+_,.?", "----x/y=z:1'()+_,.?"},
         }) {
        auto result = parse_content_type_boundary(header);
        ASSERT_TRUE(result) << header << ": " << message_of(result);
        EXPECT_EQ(*result, boundary);
    }
    std::string longest = "multipart/form-data; boundary=" + std::string(70, 'x');
    EXPECT_TRUE(parse_content_type_boundary(longest));
    for (std::string header :
         {""s, "application/json"s, "multipart/mixed; boundary=a"s, "multipart/form-data"s,
          "multipart/form-data; boundary"s, "multipart/form-data; boundary="s,
          "multipart/form-data; boundary=\"\""s, "multipart/form-data; boundary=\"a"s,
          "multipart/form-data; boundary=a; boundary=b"s, "multipart/form-data; boundary=\"a \""s,
          "multipart/form-data; boundary=a\x01"s, "multipart/form-data; boundary=\xC3\xA9"s,
          longest + "x"}) {
        auto result = parse_content_type_boundary(header);
        ASSERT_FALSE(result) << header;
        EXPECT_EQ(result.error().code, ErrorCode::bad_request);
    }
}

}  // namespace
}  // namespace kcoral::protocol
