#include "protocol/multipart_writer.hpp"

#include "protocol/testing/multipart_log.hpp"

#include <gtest/gtest.h>

#include <set>

namespace kcoral::protocol {
namespace {

using testing::MultipartLog;
using testing::SeenPart;

TEST(MultipartFrame, SurroundsPayloadsSoThatTheReaderFindsThem) {
    for (std::size_t count : {0, 1, 3}) {
        std::vector<std::string> payloads = {"{}", "", "\r\n--x\r\n"};
        payloads.resize(count);
        std::vector<OutgoingPart> parts;
        for (std::size_t i = 0; i < count; ++i)
            parts.push_back({"p" + std::to_string(i), "application/json", payloads[i].size()});
        MultipartFrame frame(parts);
        std::string body;
        for (std::size_t i = 0; i < frame.parts(); ++i)
            body += frame.head(i) + payloads[i];
        body += frame.closing();
        EXPECT_EQ(frame.content_length(), body.size());

        auto boundary = parse_content_type_boundary(frame.content_type());
        ASSERT_TRUE(boundary);
        MultipartLog log;
        MultipartReader reader(*boundary, {}, log);
        ASSERT_TRUE(reader.feed(as_bytes(body)));
        ASSERT_TRUE(reader.finish());
        ASSERT_EQ(log.parts.size(), count);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_EQ(
                log.parts[i],
                (SeenPart{{parts[i].name, "application/json", std::nullopt}, payloads[i], true}));
    }
}

TEST(MultipartFrame, DrawsANewBoundaryEachTime) {
    std::set<std::string> boundaries;
    for (int i = 0; i < 1000; ++i)
        boundaries.insert(make_boundary());
    EXPECT_EQ(boundaries.size(), 1000u);
    for (const std::string& boundary : boundaries)
        EXPECT_EQ(boundary.size(), 47u);
}

}  // namespace
}  // namespace kcoral::protocol
