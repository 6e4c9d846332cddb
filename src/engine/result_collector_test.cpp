#include "engine/result_collector.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace kcoral::engine {
namespace {

using protocol::Json;
using protocol::JsonObject;

constexpr const char* program_text = R"({"instructions": [
    {"op": "upload", "kind": "module", "id": "m", "source": ""},
    {"op": "return", "key": "first", "value": {"$ref": "m"}},
    {"op": "return", "key": "second", "value": {"$ref": "m"}}]})";

struct ResultCollectorTest : testing::Test {
    boost::asio::io_context loop{1};
    boost::asio::thread_pool pool{2};
    std::shared_ptr<ResultCollector> make(std::uint64_t limit = 1 << 20) {
        auto program = protocol::parse_program(program_text).value();
        return ResultCollector::create(
            loop, pool, std::make_shared<const protocol::Program>(std::move(program)), limit);
    }
    static Json bytes_value(std::uint32_t part, std::uint64_t size) {
        return JsonObject{{"type", "bytes"}, {"part", part}, {"size", size}};
    }
    static Fd payload(std::string_view bytes) {
        Fd file = make_memory_file("payload").value();
        EXPECT_TRUE(write_all(file, as_bytes(bytes)));
        return file;
    }
    static worker::Returned returned(std::uint32_t instruction, Json value,
                                     std::optional<Fd> file = std::nullopt) {
        worker::Returned message{instruction, std::move(value), std::move(file)};
        message.value_bytes = 10;
        return message;
    }
    std::vector<ReturnedResult> settle(const std::shared_ptr<ResultCollector>& collector) {
        bool settled = false;
        collector->when_settled([&] { settled = true; });
        auto work = boost::asio::make_work_guard(loop);  // the pool posts here later
        while (!settled)
            loop.run_one();
        return collector->take().value();
    }
};

TEST_F(ResultCollectorTest, ReturnsKeepTheirOrderAndGetTheirDigests) {
    auto collector = make();
    Json empty_array(JsonObject{{"type", "array"}, {"value", protocol::JsonArray{}}});
    ASSERT_TRUE(collector->add(returned(1, empty_array)));
    ASSERT_TRUE(collector->add(returned(2, bytes_value(0, 3), payload("abc"))));
    auto results = settle(collector);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].key, "first");
    EXPECT_EQ(results[1].key, "second");
    const auto& value = std::get<protocol::BytesValue>(results[1].value.node());
    EXPECT_EQ(value.part.digest, Sha256::of(as_bytes("abc")));
}

TEST_F(ResultCollectorTest, BothSidesOfTheLimit) {
    EXPECT_TRUE(make(13)->add(returned(1, bytes_value(0, 3), payload("abc"))));
    auto over = make(12)->add(returned(1, bytes_value(0, 3), payload("abc")));
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, ErrorCode::too_large);
}

TEST_F(ResultCollectorTest, WhatBreaksTheChannelsRulesIsRefused) {
    Fd mapped = payload("abc");
    void* mapping = ::mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.get(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
    auto pipe = make_pipe().value();
    std::vector<std::pair<const char*, worker::Returned>> cases;
    cases.emplace_back("an instruction beyond the program", returned(3, Json()));
    cases.emplace_back("an instruction that is no return", returned(0, Json()));
    cases.emplace_back("a value that is none", returned(1, Json("text")));
    cases.emplace_back("a payload without parts",
                       returned(1, JsonObject{{"type", "null"}}, payload("abc")));
    cases.emplace_back("parts without a payload", returned(1, bytes_value(0, 3)));
    cases.emplace_back("a payload too short", returned(1, bytes_value(0, 4), payload("abc")));
    cases.emplace_back("a payload too long", returned(1, bytes_value(0, 2), payload("abc")));
    cases.emplace_back("parts numbered wrongly", returned(1, bytes_value(1, 3), payload("abc")));
    cases.emplace_back("a payload still mapped writable",
                       returned(1, bytes_value(0, 3), mapped.duplicate().value()));
    cases.emplace_back("a payload that is no memory file",
                       returned(1, bytes_value(0, 3), std::move(pipe.first)));
    for (auto& [name, message] : cases) {
        auto added = make()->add(std::move(message));
        ASSERT_FALSE(added) << name;
        EXPECT_EQ(added.error().code, ErrorCode::protocol) << name;
    }
    ::munmap(mapping, 3);
}

TEST_F(ResultCollectorTest, AReturnComesOnceAndInOrder) {
    auto collector = make();
    Json null(JsonObject{{"type", "null"}});
    ASSERT_TRUE(collector->add(returned(2, null)));
    EXPECT_FALSE(collector->add(returned(2, null)));
    EXPECT_FALSE(collector->add(returned(1, null)));
}

TEST_F(ResultCollectorTest, WithoutPartsItIsSettledAtOnce) {
    auto collector = make();
    bool settled = false;
    collector->when_settled([&] { settled = true; });
    EXPECT_TRUE(settled);
}

}  // namespace
}  // namespace kcoral::engine
