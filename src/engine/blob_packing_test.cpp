#include "engine/blob_packing.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

namespace kcoral::engine {
namespace {

blob::BlobPtr blob_of(std::size_t size, char fill) {
    return blob::Blob::copy_of(as_bytes(std::string(size, fill))).value();
}

std::string content_of(const worker::Execute& program, std::size_t blob) {
    const auto& range = program.blobs[blob];
    std::string text(range.size, '\0');
    EXPECT_EQ(::pread(program.files[range.descriptor].get(), text.data(), text.size(),
                      static_cast<off_t>(range.offset)),
              static_cast<ssize_t>(text.size()));
    return text;
}

TEST(PackBlobs, SmallOnesShareAFileAndLargeOnesTravelAlone) {
    blob::MemoryCache cache({.capacity_bytes = 1 << 30});
    auto small = blob_of(10, 'a');
    auto large = blob_of(blob::Blob::small_limit + 1, 'b');
    auto empty = blob_of(0, ' ');
    std::vector<Supply> supplies;
    supplies.push_back({small->digest(), cache.insert(small)});
    supplies.push_back({large->digest(), cache.insert(large)});
    supplies.push_back({empty->digest(), empty});
    worker::Execute program;
    ASSERT_TRUE(pack_blobs(supplies, program));
    EXPECT_EQ(program.files.size(), 2u);
    ASSERT_EQ(program.blobs.size(), 3u);
    EXPECT_EQ(program.blobs[1].digest, large->digest());
    EXPECT_EQ(content_of(program, 0), std::string(10, 'a'));
    EXPECT_EQ(content_of(program, 1), std::string(blob::Blob::small_limit + 1, 'b'));
    EXPECT_EQ(content_of(program, 2), "");
}

TEST(PackBlobs, AThousandSmallBlobsTakeOneDescriptor) {
    std::vector<Supply> supplies;
    for (int i = 0; i < 1000; ++i) {
        auto blob = blob::Blob::copy_of(as_bytes(std::to_string(i))).value();
        supplies.push_back({blob->digest(), blob});
    }
    worker::Execute program;
    ASSERT_TRUE(pack_blobs(supplies, program));
    EXPECT_EQ(program.files.size(), 1u);
    EXPECT_EQ(content_of(program, 999), "999");
}

TEST(PackBlobs, AFileOfTheDiskCacheTravelsAsItIs) {
    auto file = std::make_shared<blob::CachedFile>();
    file->file = make_memory_file("cached").value();
    ASSERT_TRUE(write_all(file->file, as_bytes("on disk")));
    file->size = 7;
    worker::Execute program;
    ASSERT_TRUE(pack_blobs(
        {{Sha256::of(as_bytes("on disk")), std::shared_ptr<const blob::CachedFile>(file)}},
        program));
    EXPECT_EQ(content_of(program, 0), "on disk");
}

}  // namespace
}  // namespace kcoral::engine
