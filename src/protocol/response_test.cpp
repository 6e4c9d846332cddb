#include "protocol/response.hpp"

#include "protocol/testing/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

using testing::message_of;
using testing::repeat;
using ::testing::StartsWith;

const Digest digest = *Digest::from_hex(std::string(64, 'a'));
const std::string hex(64, 'a');

TEST(Response, HasTheContractsMembersInOrder) {
    struct Row {
        Response response;
        std::string text;
    };
    Execution completed{.request_id = "r",
                        .queue_ms = 0.5,
                        .elapsed_ms = 12,
                        .standard_output = "out\n",
                        .stderr_truncated = true,
                        .results = {{"z", Value(Integer(1))},
                                    {"b", Value(BytesValue{{0, Part::unknown_size, digest}})},
                                    {"t", Value(TensorValue{Dtype::int8, {2}, {1, 2, digest}})}}};
    Execution failed{.request_id = "r",
                     .gpus = GpuGrant{{1, 3}, 2},
                     .error = InstructionError{.kind = ErrorKind::runtime,
                                               .message = "boom",
                                               .instruction_index = 3,
                                               .instruction_op = "run",
                                               .instruction_id = "run_3",
                                               .traceback = "tb"}};
    Execution touched{.request_id = "r",
                      .error = InstructionError{.kind = ErrorKind::gpu_access,
                                                .message = "m",
                                                .instruction_op = "return",
                                                .gpu_access = GpuAccess{"cuInit", "x.py:3", {}}}};
    constexpr std::string_view timings =
        R"("queue_ms":0.0,"elapsed_ms":0.0,"lease_wait_ms":0.0,"lease_held_ms":0.0,)"
        R"("stdout":"","stderr":"","stdout_truncated":false,"stderr_truncated":false,)";
    const Row rows[] = {
        {completed,
         fmt::format(
             R"({{"status":"COMPLETED","request_id":"r","queue_ms":0.5,"elapsed_ms":12.0,)"
             R"("lease_wait_ms":0.0,"lease_held_ms":0.0,"stdout":"out\n","stderr":"",)"
             R"("stdout_truncated":false,"stderr_truncated":true,"results":{{)"
             R"("z":{{"type":"integer","value":1}},)"
             R"("b":{{"type":"bytes","part":"return:0","sha256":"{0}"}},)"
             R"("t":{{"type":"tensor","dtype":"int8","shape":[2],"part":"return:1","sha256":"{0}"}}}}}})",
             hex)},
        {failed,
         fmt::format(R"({{"status":"FAILED","request_id":"r",{}"gpu_ids":[1,3],"gpu_count":2,)"
                     R"("results":{{}},"error":{{"kind":"runtime","message":"boom",)"
                     R"("instruction_index":3,"instruction_op":"run","instruction_id":"run_3",)"
                     R"("traceback":"tb"}}}})",
                     timings)},
        {touched,
         fmt::format(R"({{"status":"FAILED","request_id":"r",{}"results":{{}},)"
                     R"("error":{{"kind":"gpu_access","message":"m","instruction_index":0,)"
                     R"("instruction_op":"return","instruction_id":null,"traceback":"",)"
                     R"("cuda_call":"cuInit","location":"x.py:3","interfered_request_id":null}}}})",
                     timings)},
        {CacheMiss{"r", {digest}},
         fmt::format(R"({{"status":"CACHE_MISS","missing_blobs":["{}"],"request_id":"r"}})", hex)},
        {ErrorReply{"r", ErrorKind::busy, "no worker"},
         R"({"status":"ERROR","request_id":"r","error":{"kind":"busy","message":"no worker"}})"},
    };
    for (const Row& row : rows) {
        std::string text =
            std::visit([](const auto& document) { return to_text(document); }, row.response);
        EXPECT_EQ(text, row.text);
        auto decoded = decode_response(text);
        ASSERT_TRUE(decoded) << text << ": " << message_of(decoded);
        EXPECT_EQ(*decoded, row.response) << text;
    }
}

TEST(Response, RefusesOtherDocuments) {
    std::string good = to_text(Execution{.request_id = "r"});
    std::string failed = to_text(
        Execution{.request_id = "r", .error = InstructionError{.kind = ErrorKind::runtime}});
    auto replaced = [](std::string text, std::string_view from, std::string_view to) {
        return text.replace(text.find(from), from.size(), to);
    };
    ASSERT_TRUE(decode_response(good));
    ASSERT_TRUE(decode_response(failed));
    ASSERT_TRUE(decode_response(replaced(failed, R"("traceback":"")", R"("traceback":null)")));
    ASSERT_TRUE(decode_response(replaced(good, R"("queue_ms":0.0)", R"("queue_ms":0)")));
    struct Row {
        std::string text;
        std::string_view message;
    };
    const Row rows[] = {
        {"", "response: line 1, column 1"},
        {"[]", "response: expected an object"},
        {"{}", "response: the field \"status\" is missing"},
        {R"({"status":"DONE"})", "status: unknown status \"DONE\""},
        {replaced(good, R"("stdout":"",)", ""), "response: the field \"stdout\" is missing"},
        {replaced(good, R"("results":{})", R"("results":[])"), "results: expected an object"},
        {replaced(good, R"("results":{})", R"("results":{"k":{"type":"x"}})"),
         "results.k.type: unknown type"},
        {replaced(good, R"("queue_ms":0.0)", R"("queue_ms":-1)"), "queue_ms: expected"},
        {replaced(good, R"("queue_ms":0.0)", R"("queue_ms":true)"), "queue_ms: expected a number"},
        {replaced(good, R"("queue_ms":0.0)", R"("queue_ms":1)" + repeat("0", 400)),
         "queue_ms: exp"},
        {replaced(good, "COMPLETED", "FAILED"), "response: the field \"error\" is missing"},
        {replaced(failed, "FAILED", "COMPLETED"), "response: unknown field \"error\""},
        {replaced(good, R"("results")", R"("gpu_ids":[0],"results")"),
         "response: the field \"gpu_count\" is missing"},
        {replaced(good, R"("results")", R"("gpu_ids":[0],"gpu_count":2,"results")"),
         "gpu_count: expected as many"},
        {replaced(failed, "runtime", "sadness"), "error.kind: unknown kind \"sadness\""},
        {replaced(failed, "runtime", "gpu_access"), "error: the field \"cuda_call\" is missing"},
        {replaced(failed, R"("instruction_index":0)", R"("instruction_index":-1)"),
         "error.instruction_index: expected"},
        {replaced(failed, R"("traceback":"")", R"("traceback":"","cuda_call":"x")"),
         "error: unknown field \"cuda_call\""},
        {R"({"status":"CACHE_MISS","request_id":"r"})", "response: the field \"missing_blobs\""},
        {R"({"status":"CACHE_MISS","request_id":"r","missing_blobs":["x"]})", "missing_blobs: exp"},
        {R"({"status":"CACHE_MISS","request_id":"r","missing_blobs":[]})",
         "missing_blobs: expected at least one"},
        {fmt::format(R"({{"status":"CACHE_MISS","request_id":"r","missing_blobs":["{0}","{0}"]}})",
                     hex),
         "missing_blobs: \"aaaa"},
        {fmt::format(R"({{"status":"CACHE_MISS","request_id":"r","missing_blobs":["{}"],"x":0}})",
                     hex),
         "response: unknown field \"x\""},
        {R"({"status":"ERROR","request_id":"r","error":{"kind":"busy"}})",
         "error: the field \"message\" is missing"},
        {R"({"status":"ERROR","request_id":"r","error":{"kind":"busy","message":"","x":1}})",
         "error: unknown field \"x\""},
    };
    for (const Row& row : rows) {
        auto response = decode_response(row.text);
        ASSERT_FALSE(response) << row.text;
        EXPECT_EQ(response.error().code, ErrorCode::protocol);
        EXPECT_THAT(response.error().message, StartsWith(row.message)) << row.text;
    }
}

TEST(Response, SendsTheLastBytesOfATraceback) {
    EXPECT_EQ(last_bytes("abc", 3), "abc");
    EXPECT_EQ(last_bytes("abc", 2), "bc");
    EXPECT_EQ(last_bytes("abc", 0), "");
    EXPECT_EQ(last_bytes("x\xC3\xA9y", 3), "\xC3\xA9y");
    EXPECT_EQ(last_bytes("x\xC3\xA9y", 2), "y");
    auto traceback_of = [](std::size_t size) {
        InstructionError error{.traceback = "begin" + std::string(size - 5, 'x')};
        auto sent = decode_response(to_text(Execution{.error = error}));
        return std::get<Execution>(*sent).error->traceback;
    };
    EXPECT_EQ(traceback_of(8192).substr(0, 5), "begin");
    EXPECT_EQ(traceback_of(8193).substr(0, 5), "eginx");
    EXPECT_EQ(traceback_of(8193).size(), 8192u);
}

TEST(Health, HasTheContractsMembersInOrder) {
    Health health{.status = "ok",
                  .instance_id = "i",
                  .started_at = "2025-01-01T00:00:00.000000Z",
                  .gpu_count = 2,
                  .load = {4, 1, 0},
                  .target = {{"arch", "sm_90a"}},
                  .versions = {{"torch", "2"}, {"cuda", "12"}}};
    std::string text = to_text(health);
    EXPECT_EQ(text,
              R"({"status":"ok","instance_id":"i","started_at":"2025-01-01T00:00:00.000000Z",)"
              R"("gpu_count":2,"load":{"request_capacity":4,"requests_in_progress":1,)"
              R"("requests_waiting":0},"target":{"arch":"sm_90a"},)"
              R"("versions":{"cuda":"12","torch":"2"}})");
    EXPECT_EQ(*decode_health(text), health);
    health.gpu_count.reset();
    health.target.clear();
    EXPECT_EQ(*decode_health(to_text(health)), health);
}

TEST(Health, RefusesOtherDocuments) {
    std::string good = to_text(Health{.status = "ok"});
    for (auto [from, to] : {std::pair(R"("load":{)", R"("load":{"x":1,)"),
                            std::pair(R"("target":{})", R"("target":{"arch":1})"),
                            std::pair(R"("gpu_count":null)", R"("gpu_count":-1)"),
                            std::pair(R"("gpu_count":null)", R"("gpu_count":1.5)"),
                            std::pair(R"("versions")", R"("version")"),
                            std::pair(R"({"status")", R"({"x":1,"status")")}) {
        std::string text = good;
        text.replace(text.find(from), std::string_view(from).size(), to);
        EXPECT_FALSE(decode_health(text)) << text;
    }
}

}  // namespace
}  // namespace kcoral::protocol
