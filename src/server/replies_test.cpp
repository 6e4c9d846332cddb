#include "server/replies.hpp"

#include "base/uuid.hpp"

#include <gtest/gtest.h>

namespace kcoral::server {
namespace {

constexpr const char* id = "00000000-0000-0000-0000-000000000001";

std::string body_of(const net::Response& response) {
    std::string text;
    for (const net::Piece& piece : response.body)
        if (auto* string = std::get_if<std::string>(&piece)) text += *string;
    return text;
}

protocol::Program one_return() {
    return protocol::parse_program(R"({"instructions": [
        {"op": "upload", "kind": "module", "id": "m", "source": ""},
        {"op": "return", "key": "k", "value": {"$ref": "m"}}]})")
        .value();
}

TEST(ChooseRequestId, OnlyOneCanonicalUuidOfTheClientIsTaken) {
    EXPECT_EQ(choose_request_id({{"X-Request-ID", id}}), id);
    const net::Headers refused[] = {
        {},
        {{"X-Request-ID", "mine"}},
        {{"X-Request-ID", "00000000-0000-0000-0000-00000000000A"}},
        {{"X-Request-ID", id}, {"x-request-id", id}},
    };
    for (const net::Headers& headers : refused) {
        std::string chosen = choose_request_id(headers);
        EXPECT_NE(chosen, id);
        EXPECT_TRUE(is_canonical_uuid(chosen));
    }
}

struct EndingCase {
    engine::Ending ending;
    unsigned status;
    const char* kind;
};

TEST(OutcomeReply, EveryEndingHasItsStatusAndKind) {
    const EndingCase table[] = {
        {engine::Ending::busy, 503, "busy"},
        {engine::Ending::shutting_down, 503, "busy"},
        {engine::Ending::timeout, 504, "timeout"},
        {engine::Ending::response_too_large, 500, "response_too_large"},
        {engine::Ending::engine_fault, 500, "engine"},
    };
    for (const EndingCase& c : table) {
        engine::Outcome outcome;
        outcome.ending = c.ending;
        outcome.message = "why";
        net::Response response = outcome_reply(id, one_return(), std::move(outcome));
        EXPECT_EQ(response.status, c.status);
        EXPECT_EQ(response.headers.find("X-Request-ID"), id);
        EXPECT_EQ(response.headers.find("Retry-After").has_value(), c.status == 503);
        EXPECT_NE(body_of(response).find(std::string("\"kind\":\"") + c.kind + '"'),
                  std::string::npos)
            << body_of(response);
    }
}

TEST(OutcomeReply, AFailureNamesItsInstruction) {
    engine::Outcome outcome;
    outcome.ending = engine::Ending::failed;
    outcome.failure = engine::ProgramFailure{protocol::ErrorKind::serialization, "no", 1, ""};
    std::string body = body_of(outcome_reply(id, one_return(), std::move(outcome)));
    EXPECT_NE(body.find(R"("instruction_index":1,"instruction_op":"return","instruction_id":null)"),
              std::string::npos)
        << body;
}

TEST(OutcomeReply, PartsAreSentFromThePayloadWithoutBeingRead) {
    auto payload = std::make_shared<const Fd>(make_memory_file("p").value());
    ASSERT_TRUE(write_all(*payload, as_bytes("abcde")));
    engine::Outcome outcome;
    outcome.ending = engine::Ending::completed;
    protocol::ArrayValue array;
    for (auto [index, size] : {std::pair(0u, 2u), std::pair(1u, 3u)})
        array.emplace_back(protocol::BytesValue{{index, size, {}}});
    outcome.results.push_back({"k", protocol::Value(std::move(array)), payload});
    net::Response response = outcome_reply(id, one_return(), std::move(outcome));
    std::vector<net::FileRange> ranges;
    for (const net::Piece& piece : response.body)
        if (auto* range = std::get_if<net::FileRange>(&piece)) ranges.push_back(*range);
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].offset, 0u);
    EXPECT_EQ(ranges[1].offset, 2u);
    EXPECT_EQ(ranges[1].length, 3u);
    EXPECT_NE(body_of(response).find("name=\"return:1\""), std::string::npos);
}

TEST(RefusalReply, ASlowClientIsTold408AndABrokenBody400) {
    EXPECT_EQ(refusal_reply(id, Error(ErrorCode::timeout, "slow")).status, 408u);
    EXPECT_EQ(refusal_reply(id, Error(ErrorCode::bad_request, "broken")).status, 400u);
    EXPECT_EQ(refusal_reply(id, Error(ErrorCode::too_large, "large")).status, 413u);
    EXPECT_EQ(refusal_reply(id, Error(ErrorCode::io, "disk")).status, 500u);
}

}  // namespace
}  // namespace kcoral::server
