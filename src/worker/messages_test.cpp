#include "worker/messages.hpp"

#include <gtest/gtest.h>

namespace kcoral::worker {
namespace {

struct MessagesTest : testing::Test {
    Channel near, far;
    void SetUp() override {
        auto ends = make_packet_sockets().value();
        near = Channel(std::move(ends.first));
        far = Channel(std::move(ends.second));
    }
    Packet packet() { return std::move(far.receive().value().value()); }

    template <typename Message>
    Message pass(const Message& message) {
        EXPECT_TRUE(send(near, FromWorker(message)));
        return std::get<Message>(decode_from_worker(packet()).value());
    }
};

Fd file_with(std::string_view text) {
    Fd file = make_memory_file("test").value();
    EXPECT_TRUE(write_all(file, as_bytes(text)));
    return file;
}

TEST_F(MessagesTest, AForkBringsItsFourDescriptorsInOrder) {
    ASSERT_TRUE(send(near, Fork{"cpu/w0#3", "/ws/1", file_with("channel"), file_with("out"),
                                file_with("err"), file_with("exit")}));
    Fork fork = decode_fork(packet()).value();
    EXPECT_EQ(fork.worker, "cpu/w0#3");
    EXPECT_EQ(fork.workspace, "/ws/1");
    EXPECT_EQ(read_file(fork.channel).value(), "channel");
    EXPECT_EQ(read_file(fork.stdout_pipe).value(), "out");
    EXPECT_EQ(read_file(fork.stderr_pipe).value(), "err");
    EXPECT_EQ(read_file(fork.exit_pipe).value(), "exit");
}

TEST_F(MessagesTest, AnExecuteArrivesAsItWasSent) {
    Execute sent;
    sent.request_id = "id";
    sent.program = "{\"instructions\": [\"\\u00e9\\n\"]}";
    sent.blobs = {{Sha256::of(as_bytes("a")), 1, 7, 1}, {Sha256::of({}), 0, 0, 0}};
    sent.files.push_back(file_with(""));
    sent.files.push_back(file_with("1234567a"));
    sent.host_tensors = true;
    sent.max_result_bytes = UINT64_MAX;
    sent.termination_grace_seconds = 0.25;
    sent.reusable = true;
    ASSERT_TRUE(send(near, sent));
    Execute got = decode_execute(packet()).value();
    EXPECT_EQ(got.request_id, sent.request_id);
    EXPECT_EQ(got.program, sent.program);
    ASSERT_EQ(got.blobs.size(), 2u);
    EXPECT_EQ(got.blobs[0].digest, sent.blobs[0].digest);
    EXPECT_EQ(got.blobs[0].descriptor, 1u);
    EXPECT_EQ(got.blobs[0].offset, 7u);
    EXPECT_EQ(got.blobs[0].size, 1u);
    EXPECT_EQ(read_file(got.files.at(1)).value(), "1234567a");
    EXPECT_TRUE(got.host_tensors);
    EXPECT_EQ(got.max_result_bytes, UINT64_MAX);
    EXPECT_EQ(got.termination_grace_seconds, 0.25);
    EXPECT_TRUE(got.reusable);
}

TEST_F(MessagesTest, WhatAZygoteSaysArrivesAsItWasSent) {
    ZygoteReady ready{"3.11.2",
                      {{"torch", "2.9"}, {"tvm_ffi", "0.1"}},
                      {{"torch", 1234.5, ""}, {"triton", 0, "importing it opened the GPU"}},
                      "session",
                      "unshare: not permitted"};
    ASSERT_TRUE(send(near, FromZygote(ready)));
    auto got = std::get<ZygoteReady>(decode_from_zygote(packet()).value());
    EXPECT_EQ(got.python, "3.11.2");
    EXPECT_EQ(got.versions, ready.versions);
    ASSERT_EQ(got.preloads.size(), 2u);
    EXPECT_EQ(got.preloads[0].milliseconds, 1234.5);
    EXPECT_EQ(got.preloads[1].error, "importing it opened the GPU");
    EXPECT_EQ(got.isolation, "session");
    EXPECT_EQ(got.why_not_better, "unshare: not permitted");

    ASSERT_TRUE(send(near, FromZygote(Forked{"w", 42, file_with("pidfd")})));
    auto forked = std::get<Forked>(decode_from_zygote(packet()).value());
    EXPECT_EQ(forked.worker, "w");
    EXPECT_EQ(forked.pid, 42);
    EXPECT_EQ(read_file(forked.pidfd).value(), "pidfd");

    ASSERT_TRUE(send(near, FromZygote(ForkFailed{"w", "no memory"})));
    auto failed = std::get<ForkFailed>(decode_from_zygote(packet()).value());
    EXPECT_EQ(failed.worker, "w");
    EXPECT_EQ(failed.message, "no memory");
}

TEST_F(MessagesTest, WhatAWorkerSaysArrivesAsItWasSent) {
    pass(WorkerReady{});
    EXPECT_EQ(pass(Started{7}).instruction, 7u);

    Finished failed{
        Finished::Failure{protocol::ErrorKind::runtime, "broke\n\"it\"", 3, "Traceback"},
        "sandbox_cleanup: 2 threads are left"};
    Finished got = pass(failed);
    ASSERT_TRUE(got.error);
    EXPECT_EQ(got.error->kind, protocol::ErrorKind::runtime);
    EXPECT_EQ(got.error->message, "broke\n\"it\"");
    EXPECT_EQ(got.error->instruction, 3u);
    EXPECT_EQ(got.error->traceback, "Traceback");
    EXPECT_EQ(got.retire, failed.retire);
    EXPECT_FALSE(pass(Finished{}).error);
}

TEST_F(MessagesTest, APayloadIsSealedWhenItIsTaken) {
    Fd payload = file_with("parts");
    Fd mine = payload.duplicate().value();
    ASSERT_TRUE(
        send_returned(near, 2, R"({"type":"bytes","part":0,"size":5})", std::move(payload)));
    auto returned = std::get<Returned>(decode_from_worker(packet()).value());
    EXPECT_EQ(returned.instruction, 2u);
    ASSERT_TRUE(returned.payload);
    EXPECT_EQ(read_file(*returned.payload).value(), "parts");
    EXPECT_FALSE(write_all(mine, as_bytes("more")));
}

TEST_F(MessagesTest, AValueMayNestAsDeepAsTheContractAllows) {
    std::string text;
    for (int i = 0; i < 512; ++i)
        text += R"({"type":"array","value":[)";
    text += R"({"type":"null"})";
    for (int i = 0; i < 512; ++i)
        text += "]}";
    ASSERT_TRUE(send_returned(near, 0, text, std::nullopt));
    EXPECT_TRUE(decode_from_worker(packet()));
}

// What a broken or hostile worker may send instead of a message.
TEST_F(MessagesTest, AnythingElseIsAProtocolError) {
    const char* bodies[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "\xff",
        R"({"type":7})",
        R"({"type":"execute"})",
        R"({"type":"forked","worker":"w","pid":1})",
        R"({"type":"started"})",
        R"({"type":"started","instruction":-1})",
        R"({"type":"started","instruction":4294967296})",
        R"({"type":"started","instruction":1.0})",
        R"({"type":"started","instruction":"1"})",
        R"({"type":"returned","instruction":0})",
        R"({"type":"finished","retire":""})",
        R"({"type":"finished","error":{},"retire":""})",
        R"({"type":"finished","error":null,"retire":null})",
        R"({"type":"finished","error":{"kind":"odd","message":"","instruction":0,"traceback":""},)"
        R"("retire":""})",
        R"({"type":"started","instruction":1,"instruction":1})",
    };
    for (const char* body : bodies) {
        auto decoded = decode_from_worker(Packet{body, {}});
        ASSERT_FALSE(decoded) << body;
        EXPECT_EQ(decoded.error().code, ErrorCode::protocol) << body;
        EXPECT_FALSE(decode_from_zygote(Packet{body, {}})) << body;
        EXPECT_FALSE(decode_fork(Packet{body, {}})) << body;
        EXPECT_FALSE(decode_execute(Packet{body, {}})) << body;
    }
}

TEST_F(MessagesTest, DescriptorsThatDoNotBelongToAMessageAreRefused) {
    auto with_descriptors = [](const char* body, std::size_t count) {
        Packet packet{body, {}};
        for (std::size_t i = 0; i < count; ++i)
            packet.descriptors.push_back(file_with(""));
        return decode_from_worker(std::move(packet));
    };
    EXPECT_FALSE(with_descriptors(R"({"type":"worker_ready"})", 1));
    EXPECT_FALSE(with_descriptors(R"({"type":"finished","error":null,"retire":""})", 1));
    EXPECT_FALSE(
        with_descriptors(R"({"type":"returned","instruction":0,"value":{"type":"null"}})", 2));
}

TEST_F(MessagesTest, APayloadThatIsNoMemoryFileIsRefused) {
    Packet packet{R"({"type":"returned","instruction":0,"value":{"type":"null"}})", {}};
    packet.descriptors.push_back(make_pipe().value().first);
    EXPECT_FALSE(decode_from_worker(std::move(packet)));
}

TEST_F(MessagesTest, ABlobInADescriptorThatDidNotComeIsRefused) {
    Execute sent;
    sent.blobs = {{Sha256::of({}), 1, 0, 0}};
    sent.files.push_back(file_with(""));
    ASSERT_TRUE(send(near, sent));
    EXPECT_FALSE(decode_execute(packet()));
}

}  // namespace
}  // namespace kcoral::worker
