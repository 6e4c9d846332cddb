#include "base/fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kcoral {
namespace {

bool is_open(int descriptor) {
    return ::fcntl(descriptor, F_GETFD) >= 0;
}

TEST(Fd, TheLastOwnerClosesTheDescriptor) {
    auto pipe = make_pipe().value();
    int raw = pipe.first.get();
    {
        Fd moved = std::move(pipe.first);
        EXPECT_FALSE(pipe.first);
        EXPECT_TRUE(is_open(raw));
    }
    EXPECT_FALSE(is_open(raw));
}

TEST(Fd, EveryMakerSetsCloseOnExec) {
    auto pipe = make_pipe().value();
    auto sockets = make_packet_sockets().value();
    auto memory = make_memory_file("test").value();
    auto copy = memory.duplicate().value();
    for (const Fd* fd :
         {&pipe.first, &pipe.second, &sockets.first, &sockets.second, &memory, &copy})
        EXPECT_TRUE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC);
}

TEST(MemoryFile, ASealedFileTakesNoMoreWrites) {
    auto file = make_memory_file("test").value();
    ASSERT_TRUE(write_all(file, as_bytes("hello")));
    ASSERT_TRUE(seal_memory_file(file));
    EXPECT_TRUE(seal_memory_file(file)) << "sealing twice is no fault";
    EXPECT_FALSE(write_all(file, as_bytes("more")));
    EXPECT_NE(::ftruncate(file.get(), 0), 0);
    EXPECT_EQ(read_file(file).value(), "hello");
    EXPECT_EQ(file_size(file).value(), 5u);
}

TEST(MemoryFile, AWritableMappingForbidsSealing) {
    auto file = make_memory_file("test").value();
    ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
    void* mapping = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
    EXPECT_FALSE(seal_memory_file(file));
    ::munmap(mapping, 4096);
}

TEST(MemoryFile, AnOrdinaryFileCannotBeSealed) {
    Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_FALSE(seal_memory_file(null));
}

TEST(ReadFile, NamesThePathAndKeepsTheLimit) {
    EXPECT_EQ(read_file("/nonexistent/file").error().code, ErrorCode::not_found);
    EXPECT_NE(read_file("/nonexistent/file").error().message.find("/nonexistent/file"),
              std::string::npos);
    EXPECT_EQ(read_file("/proc/self/status", 3).error().code, ErrorCode::too_large);
    EXPECT_FALSE(read_file("/proc/self/status").value().empty());
}

}  // namespace
}  // namespace kcoral
