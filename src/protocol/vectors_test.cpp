// The golden wire vectors of tests/vectors, which every client's reader must agree with.
#include "protocol/program.hpp"
#include "protocol/program_blobs.hpp"
#include "protocol/response_reader.hpp"
#include "protocol/testing/messages.hpp"
#include "protocol/testing/multipart_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace kcoral::protocol {
namespace {

using testing::message_of;
using testing::read_in_pieces;

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> documents(std::string_view folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(KCORAL_VECTORS) / folder))
        if (entry.path().extension() == ".json") paths.push_back(entry.path());
    return paths;
}

Json read_document(const std::filesystem::path& path) {
    auto json = parse_json(read_file(path), {.depth = max_value_json_depth});
    EXPECT_TRUE(json) << path << ": " << message_of(json);
    return json ? std::move(*json) : Json();
}

const Json& at(const Json& json, std::string_view name) {
    static const Json absent;
    const Json* found = json.object() ? json.object()->find(name) : nullptr;
    return found ? *found : absent;
}

std::string text(const Json& json) {
    return json.string() ? *json.string() : "";
}

struct PartLog : PartSink {
    std::vector<std::string> parts;

    Result<void> part_begin(std::uint32_t, std::optional<std::uint64_t>) override {
        parts.emplace_back();
        return {};
    }
    Result<void> part_data(ByteView bytes) override {
        parts.back() += as_text(bytes);
        return {};
    }
    Result<void> part_end() override { return {}; }
};

std::string hexadecimal(std::string_view bytes) {
    std::string digits;
    for (unsigned char byte : bytes)
        digits += fmt::format("{:02x}", byte);
    return digits;
}

// The results with the bytes of each part in the place of its name and digest.
Json with_bytes(const Json& json, const std::vector<std::string>& parts) {
    if (json.array()) {
        JsonArray array;
        for (const Json& item : *json.array())
            array.push_back(with_bytes(item, parts));
        return array;
    }
    if (!json.object()) return json;
    JsonObject object;
    bool binary = json.object()->find("sha256") && json.object()->find("part");
    for (const JsonMember& member : *json.object()) {
        if (binary && member.name == "sha256") continue;
        if (binary && member.name == "part") {
            std::size_t index = std::stoul(member.value.string()->substr(7));
            object.add("hex", hexadecimal(parts.at(index)));
        } else {
            object.add(member.name, with_bytes(member.value, parts));
        }
    }
    return object;
}

// Equal but for the order of members and for writing a whole number with or without ".0".
bool equivalent(const Json& a, const Json& b) {
    auto number = [](const Json& json) {
        return json.number() ? *json.number() : json.integer()->to_double();
    };
    if ((a.number() && b.integer()) || (a.integer() && b.number())) return number(a) == number(b);
    if (a.kind() != b.kind()) return false;
    if (a.array()) return std::ranges::equal(*a.array(), *b.array(), equivalent);
    if (!a.object()) return a == b;
    if (a.object()->size() != b.object()->size()) return false;
    return std::ranges::all_of(*a.object(), [&](const JsonMember& member) {
        const Json* other = b.object()->find(member.name);
        return other && equivalent(member.value, *other);
    });
}

void expect_result(const Execution& execution, const Json& expect, const PartLog& log) {
    Json written = *parse_json(to_text(execution), {.depth = max_value_json_depth});
    JsonObject document;
    for (const JsonMember& member : *written.object())
        if (member.name != "results") document.add(member.name, member.value);
    if (!at(expect, "document").is_null()) {
        EXPECT_TRUE(equivalent(document, at(expect, "document"))) << to_text(written);
    }
    if (!at(expect, "results").is_null()) {
        Json results = with_bytes(at(written, "results"), log.parts);
        EXPECT_TRUE(equivalent(results, at(expect, "results"))) << to_text(results);
    }
}

void expect_outcome(const Json& vector, const Result<Response>& response, const PartLog& log) {
    const Json& expect = at(vector, "expect");
    std::string outcome = text(at(expect, "outcome"));
    if (outcome == "protocol_error") {
        // What only the program or the headers tell is for the client that has them.
        if (!at(expect, "needs").is_null()) return;
        ASSERT_FALSE(response);
        EXPECT_EQ(response.error().code, ErrorCode::protocol);
        return;
    }
    ASSERT_TRUE(response) << message_of(response);
    if (outcome == "result") {
        expect_result(std::get<Execution>(*response), expect, log);
    } else if (outcome == "cache_miss") {
        JsonArray missing;
        for (const Digest& digest : std::get<CacheMiss>(*response).missing_blobs)
            missing.emplace_back(digest.hex());
        EXPECT_EQ(Json(missing), at(expect, "missing"));
    } else {
        ASSERT_EQ(outcome, "error");
        const auto& reply = std::get<ErrorReply>(*response);
        EXPECT_EQ(to_string(reply.kind), text(at(expect, "kind")));
        EXPECT_EQ(reply.message, text(at(expect, "message")));
    }
}

TEST(Vectors, MeanWhatTheySayHoweverTheyAreCut) {
    auto paths = documents("responses");
    ASSERT_GT(paths.size(), 100u);
    for (const auto& path : paths) {
        SCOPED_TRACE(path.stem());
        Json vector = read_document(path);
        std::string body = read_file(std::filesystem::path(path).replace_extension("body"));
        auto status = static_cast<int>(*at(vector, "status").integer()->to_int64());
        std::string type = text(at(at(vector, "headers"), "Content-Type"));
        for (std::size_t piece : {body.size() + 1, std::size_t{1}, std::size_t{13}}) {
            PartLog log;
            auto reader = ResponseReader::create(status, type, log);
            Result<Response> response =
                reader ? read_in_pieces(**reader, body, piece) : Failure(std::move(reader.error()));
            expect_outcome(vector, response, log);
        }
    }
}

TEST(Vectors, ArePrograms) {
    auto paths = documents("requests");
    ASSERT_FALSE(paths.empty());
    for (const auto& path : paths) {
        SCOPED_TRACE(path.stem());
        Json vector = read_document(path);
        auto program = parse_program(text(at(vector, "text")));
        ASSERT_TRUE(program) << message_of(program);
        auto again = parse_program(to_text(*program));
        ASSERT_TRUE(again) << message_of(again);
        EXPECT_EQ(*again, *program);
        JsonArray blobs;
        for (const RequiredBlob& blob : required_blobs(*program))
            blobs.emplace_back(blob.digest.hex());
        JsonArray expected;
        for (const Json& blob : *at(vector, "blobs").array())
            expected.push_back(at(blob, "sha256"));
        EXPECT_EQ(blobs, expected);
    }
}

}  // namespace
}  // namespace kcoral::protocol
