// Chunked bodies, cut at every place.
#include "net/chunk_decoder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace kcoral::net {
namespace {

struct Decoded {
    std::string data;
    std::string rest;  // behind the body
    bool finished = false;
    bool failed = false;
};

// Feeds `text` as a connection would: `step` more bytes each time the decoder wants more.
Decoded decode(std::string_view text, std::size_t step) {
    ChunkDecoder decoder;
    Decoded result;
    std::size_t begin = 0, end = 0;
    while (!decoder.finished()) {
        auto output = decoder.decode(as_bytes(text.substr(begin, end - begin)));
        if (!output) {
            result.failed = true;
            return result;
        }
        begin += output->consumed;
        result.data += as_text(output->data);
        if (!output->data.empty() || decoder.finished()) continue;
        if (end == text.size()) return result;
        end = std::min(end + step, text.size());
    }
    result.finished = true;
    result.rest = text.substr(begin);
    return result;
}

TEST(ChunkDecoder, GivesTheSameBytesHoweverTheyAreCut) {
    struct {
        const char* text;
        const char* data;
    } const table[] = {
        {"0\r\n\r\nNEXT", ""},
        {"3\r\nabc\r\n0\r\n\r\nNEXT", "abc"},
        {"3;ext=1;q=\"x\"\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\nNEXT", "abc0123456789"},
        {"1\r\na\r\n1\r\nb\r\n0\r\nTrailer: x\r\nAnother: y\r\n\r\nNEXT", "ab"},
        {"4\r\n\r\n\r\n\r\n0\r\n\r\nNEXT", "\r\n\r\n"},
    };
    for (const auto& row : table)
        for (std::size_t step : {1u, 2u, 3u, 5u, 100u}) {
            auto decoded = decode(row.text, step);
            EXPECT_TRUE(decoded.finished) << row.text << step;
            EXPECT_EQ(decoded.data, row.data) << row.text << step;
            if (step == 100) {
                EXPECT_EQ(decoded.rest, "NEXT");
            }
        }
}

TEST(ChunkDecoder, RefusesBrokenChunks) {
    for (const char* text :
         {"x\r\nabc\r\n0\r\n\r\n", "-1\r\na\r\n0\r\n\r\n", "3\r\nabcX\r\n0\r\n\r\n",
          "3\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "\r\n\r\n\r\n",
          "0x3\r\nabc\r\n0\r\n\r\n", "11111111111111111\r\na\r\n", "3;\n\r\nabc\r\n0\r\n\r\n",
          "0\r\nContent-Length: 5\r\n\r\n"})
        for (std::size_t step : {1u, 100u})
            EXPECT_TRUE(decode(text, step).failed) << text << " by " << step;
}

TEST(ChunkDecoder, WaitsForTheEndOfAnUnfinishedBody) {
    std::string text = "3\r\nabc\r\n0\r\nT: x\r\n\r\n";
    for (std::size_t length = 0; length < text.size(); ++length) {
        auto decoded = decode(std::string_view(text).substr(0, length), 1);
        EXPECT_FALSE(decoded.finished || decoded.failed) << length;
    }
}

}  // namespace
}  // namespace kcoral::net
