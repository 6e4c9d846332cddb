#include "worker/channel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

namespace kcoral::worker {
namespace {

struct ChannelTest : testing::Test {
    Channel near, far;
    void SetUp() override {
        auto ends = make_packet_sockets().value();
        near = Channel(std::move(ends.first));
        far = Channel(std::move(ends.second));
    }
    // Sends from near to far and gives what arrives.
    Packet pass(std::string_view body, std::span<const Fd* const> descriptors = {}) {
        EXPECT_TRUE(near.send(body, descriptors));
        return std::move(far.receive().value().value());
    }
};

TEST_F(ChannelTest, BodiesOnBothSidesOfTheInlineLimitArriveWhole) {
    for (std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(32 << 10),
                             std::size_t((32 << 10) + 1), std::size_t(5 << 20)}) {
        std::string body(size, 'x');
        if (size) body.back() = 'y';
        Packet packet = pass(body);
        EXPECT_EQ(packet.body, body);
        EXPECT_TRUE(packet.descriptors.empty());
    }
}

TEST_F(ChannelTest, DescriptorsArriveInOrderHoweverMany) {
    for (std::size_t count : {1u, 250u, 251u, 600u}) {
        std::vector<Fd> files;
        std::vector<const Fd*> pointers;
        for (std::size_t i = 0; i < count; ++i) {
            files.push_back(make_memory_file("f").value());
            ASSERT_TRUE(write_all(files.back(), as_bytes(std::to_string(i))));
        }
        for (const Fd& file : files)
            pointers.push_back(&file);
        // Another thread is not needed: the socket's buffer holds a few packets.
        Packet packet = pass(std::string(count == 600 ? 100'000 : 10, 'b'), pointers);
        ASSERT_EQ(packet.descriptors.size(), count);
        for (std::size_t i : {std::size_t(0), count / 2, count - 1})
            EXPECT_EQ(read_file(packet.descriptors[i]).value(), std::to_string(i));
        EXPECT_TRUE(::fcntl(packet.descriptors[0].get(), F_GETFD) & FD_CLOEXEC);
    }
}

TEST_F(ChannelTest, TheEndOfThePeerIsAnEmptyReceiveAfterWhatItSent) {
    ASSERT_TRUE(near.send("last words"));
    near = Channel();
    EXPECT_EQ(far.receive().value()->body, "last words");
    EXPECT_FALSE(far.receive().value());
    EXPECT_EQ(far.send("hello?").error().code, ErrorCode::closed);
}

TEST_F(ChannelTest, ANonBlockingChannelSaysBusy) {
    ASSERT_TRUE(set_nonblocking(far.fd()));
    EXPECT_EQ(far.receive().error().code, ErrorCode::busy);
}

TEST_F(ChannelTest, NonsenseIsAProtocolError) {
    // A body announced in a descriptor that never came.
    ASSERT_EQ(::send(near.fd().get(), "\x01", 1, 0), 1);
    EXPECT_EQ(far.receive().error().code, ErrorCode::protocol);
    // A packet longer than any of ours.
    std::string huge(100'000, 'z');
    ASSERT_EQ(::send(near.fd().get(), huge.data(), huge.size(), 0), ssize_t(huge.size()));
    EXPECT_EQ(far.receive().error().code, ErrorCode::protocol);
}

TEST_F(ChannelTest, ABodyInAFileThatIsNoMemoryFileIsRefused) {
    Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Fd* descriptors[] = {&null};
    ASSERT_TRUE(near.send("x", descriptors));
    EXPECT_TRUE(far.receive().value());  // as an ordinary descriptor it is fine
    char flag = 1;
    iovec piece{&flag, 1};
    char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(header)) = null.get();
    ASSERT_EQ(::sendmsg(near.fd().get(), &message, 0), 1);
    EXPECT_FALSE(far.receive());
}

}  // namespace
}  // namespace kcoral::worker
