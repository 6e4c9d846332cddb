// Chunked bodies by Beast's parser.
#include "net/chunk_decoder.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace kcoral::net {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using View = boost::beast::string_view;

}  // namespace

class ChunkDecoder::Parser final : public http::basic_parser<true> {
  public:
    Parser() {
        body_limit(boost::none);  // the reader of the body counts
        // Beast decodes chunks only behind a head; the real one was read elsewhere.
        constexpr std::string_view head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        error_code error;
        put({head.data(), head.size()}, error);
    }

    // Would Beast make something of `size` bytes? Where it expects the head of a chunk, it asserts
    // that the end of the shortest body is there; no body ends with less.
    bool is_enough(std::size_t size) const {
        constexpr std::size_t shortest_end = std::string_view("0\r\n\r\n").size();
        return in_chunk_ ? size > 0 : size >= shortest_end;
    }

    ByteView data;

  private:
    void on_chunk_header_impl(std::uint64_t size, View, error_code&) override {
        in_chunk_ = size > 0;
    }
    std::size_t on_chunk_body_impl(std::uint64_t remaining, View bytes, error_code&) override {
        data = as_bytes(bytes);
        in_chunk_ = bytes.size() < remaining;
        return bytes.size();
    }
    void on_request_impl(http::verb, View, View, int, error_code&) override {}
    void on_response_impl(int, View, int, error_code&) override {}
    void on_field_impl(http::field, View, View, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(View, error_code&) override { return 0; }
    void on_finish_impl(error_code&) override {}

    bool in_chunk_ = false;  // within the bytes of a chunk, not before its head
};

ChunkDecoder::ChunkDecoder() : parser_(std::make_unique<Parser>()) {}
ChunkDecoder::~ChunkDecoder() = default;

bool ChunkDecoder::finished() const {
    return parser_->is_done();
}

Result<ChunkDecoder::Output> ChunkDecoder::decode(ByteView input) {
    Output output;
    // Each call of the parser handles one chunk header or the bytes behind it.
    while (!finished()) {
        ByteView rest = input.subspan(output.consumed);
        if (!parser_->is_enough(rest.size())) return output;
        parser_->data = {};
        error_code error;
        output.consumed += parser_->put({rest.data(), rest.size()}, error);
        if (error == http::error::need_more) return output;
        if (error)
            return failure(ErrorCode::bad_request,
                           "the chunked encoding is broken: " + error.message());
        output.data = parser_->data;
        if (!output.data.empty()) return output;
    }
    return output;
}

}  // namespace kcoral::net
