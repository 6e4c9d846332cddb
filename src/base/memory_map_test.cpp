#include "base/memory_map.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <string>

namespace kcoral {
namespace {

TEST(MemoryMap, WhatOneMappingWritesAnotherReads) {
    auto file = make_memory_file("test").value();
    ASSERT_EQ(::ftruncate(file.get(), 8), 0);
    auto writer = MemoryMap::writable(file, 8).value();
    auto reader = MemoryMap::read_only(file, 8).value();
    std::memcpy(writer.writable_bytes().data(), "abcdefgh", 8);
    EXPECT_EQ(as_text(reader.bytes()), "abcdefgh");
}

TEST(MemoryMap, AnEmptyFileMapsToNoBytes) {
    auto file = make_memory_file("test").value();
    EXPECT_TRUE(MemoryMap::read_only(file, 0).value().bytes().empty());
}

TEST(MemoryMap, ASealedFileCanBeMappedFromAnyPageOn) {
    auto file = make_memory_file("test").value();
    auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    ASSERT_TRUE(write_all(file, as_bytes(std::string(page, 'a') + "bcd")));
    auto before = MemoryMap::read_only(file, page).value();
    ASSERT_TRUE(seal_memory_file(file));
    EXPECT_EQ(as_text(MemoryMap::read_only(file, 3, page).value().bytes()), "bcd");
}

TEST(MemoryMap, MovingLeavesTheSourceEmpty) {
    auto file = make_memory_file("test").value();
    ASSERT_TRUE(write_all(file, as_bytes("xy")));
    auto first = MemoryMap::read_only(file, 2).value();
    MemoryMap second = std::move(first);
    EXPECT_EQ(as_text(second.bytes()), "xy");
    EXPECT_TRUE(first.bytes().empty());
}

TEST(MemoryMap, ABadDescriptorIsAnError) {
    EXPECT_FALSE(MemoryMap::read_only(Fd(), 10));
}

}  // namespace
}  // namespace kcoral
