// Heads of HTTP messages: Beast's parser with stricter manners.
#include "net/head_parser.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <charconv>

namespace kcoral::net {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using View = boost::beast::string_view;

// Collects what Beast finds in a head.
template <bool is_request>
class HeadParser final : public http::basic_parser<is_request> {
  public:
    HeadParser() {
        this->header_limit(UINT32_MAX);
        this->body_limit(boost::none);
    }

    std::string method, target;
    unsigned status = 0;
    int version = 0;
    Headers headers;

  private:
    void on_request_impl(http::verb, View method_text, View target_text, int version_number,
                         error_code&) override {
        method = method_text;
        target = target_text;
        version = version_number;
    }
    void on_response_impl(int code, View, int version_number, error_code&) override {
        status = static_cast<unsigned>(code);
        version = version_number;
    }
    void on_field_impl(http::field, View name, View value, error_code&) override {
        headers.add(std::string(name), std::string(value));
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(View, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, View, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, View, error_code&) override { return 0; }
    void on_finish_impl(error_code&) override {}
};

std::unexpected<HeadFault> fault(unsigned status, std::string message) {
    return std::unexpected(HeadFault{status, std::move(message)});
}

using Check = std::expected<void, HeadFault>;

// Lines that are too long or too many, and folded ones, which Beast would unfold.
Check check_lines(std::string_view head, const HeadLimits& limits) {
    std::size_t count = 0;
    while (!head.empty()) {
        std::size_t length = std::min(head.find("\r\n"), head.size());
        std::string_view line = head.substr(0, length);
        head.remove_prefix(std::min(length + 2, head.size()));
        if (line.size() > limits.max_line_bytes) {
            if (count == 0)
                return fault(414, "the request line is longer than " +
                                      std::to_string(limits.max_line_bytes) + " bytes");
            return fault(
                431, "a header is longer than " + std::to_string(limits.max_line_bytes) + " bytes");
        }
        if (line.starts_with(' ') || line.starts_with('\t'))
            return fault(400, "a header line begins with white space");
        if (!line.empty() && count++ > limits.max_header_count)
            return fault(
                431, "there are more than " + std::to_string(limits.max_header_count) + " headers");
    }
    return {};
}

// The framing of a body must be told once and in one way.
struct Framing {
    bool chunked = false;
    std::optional<std::uint64_t> content_length;
};

std::expected<Framing, HeadFault> read_framing(const Headers& headers, int version) {
    Framing framing;
    auto lengths = headers.all("Content-Length");
    auto encodings = headers.all("Transfer-Encoding");
    if (!lengths.empty() && !encodings.empty())
        return fault(400, "both Content-Length and Transfer-Encoding are given");
    if (lengths.size() > 1) return fault(400, "Content-Length is given more than once");
    if (encodings.size() > 1) return fault(400, "Transfer-Encoding is given more than once");
    if (!lengths.empty()) {
        std::string_view text = lengths.front();
        std::uint64_t length = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
        if (text.empty() || error != std::errc() || end != text.data() + text.size())
            return fault(400, "Content-Length is not a number");
        framing.content_length = length;
    }
    if (!encodings.empty()) {
        if (version < 11) return fault(400, "HTTP/1.0 has no Transfer-Encoding");
        if (!same_ignoring_case(encodings.front(), "chunked"))
            return fault(501, "the only Transfer-Encoding known here is chunked");
        framing.chunked = true;
    }
    return framing;
}

bool wants_keep_alive(const Headers& headers, int version) {
    if (headers.lists("Connection", "close")) return false;
    return version >= 11 || headers.lists("Connection", "keep-alive");
}

// Path and query of a target in origin, absolute or asterisk form.
Check split_target(RequestHead& head) {
    std::string_view rest = head.target;
    if (!rest.starts_with('/') && rest != "*" && head.method != "CONNECT") {
        auto scheme_end = rest.find("://");
        std::string_view scheme = rest.substr(0, scheme_end);
        if (scheme_end == std::string_view::npos ||
            !(same_ignoring_case(scheme, "http") || same_ignoring_case(scheme, "https")))
            return fault(400, "the request target does not begin with a /");
        rest.remove_prefix(scheme_end + 3);
        rest.remove_prefix(std::min(rest.find_first_of("/?"), rest.size()));
    }
    auto question = rest.find('?');
    head.path = rest.substr(0, question);
    if (head.path.empty()) head.path = "/";
    if (question != std::string_view::npos) head.query = rest.substr(question + 1);
    return {};
}

unsigned status_of(const error_code& error, std::string_view head) {
    if (error != http::error::bad_version) return 400;
    // A well-formed version that is not ours, or no version at all?
    std::string_view line = head.substr(0, head.find("\r\n"));
    if (std::ranges::count(line, ' ') != 2) return 400;
    std::string_view version = line.substr(line.rfind(' ') + 1);
    bool well_formed = version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.';
    return well_formed ? 505 : 400;
}

template <bool is_request>
Check parse(HeadParser<is_request>& parser, std::string_view bytes, const HeadLimits& limits) {
    if (auto lines = check_lines(bytes, limits); !lines) return lines;
    error_code error;
    parser.put({bytes.data(), bytes.size()}, error);
    if (error) return fault(status_of(error, bytes), "the head is malformed: " + error.message());
    if (!parser.is_header_done()) return fault(400, "the head is malformed");
    return {};
}

}  // namespace

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t searched) {
    auto position = bytes.find("\r\n\r\n", searched < 3 ? 0 : searched - 3);
    if (position == std::string_view::npos) return std::nullopt;
    return position + 4;
}

std::expected<RequestHead, HeadFault> parse_request_head(std::string_view bytes,
                                                         const HeadLimits& limits) {
    HeadParser<true> parser;
    if (auto parsed = parse(parser, bytes, limits); !parsed)
        return std::unexpected(std::move(parsed).error());
    auto framing = read_framing(parser.headers, parser.version);
    if (!framing) return std::unexpected(std::move(framing).error());
    std::size_t hosts = parser.headers.count("Host");
    if (hosts > 1) return fault(400, "Host is given more than once");
    if (hosts == 0 && parser.version >= 11) return fault(400, "there is no Host header");

    RequestHead head;
    head.method = std::move(parser.method);
    head.target = std::move(parser.target);
    head.http_1_0 = parser.version < 11;
    head.keep_alive = wants_keep_alive(parser.headers, parser.version);
    head.headers = std::move(parser.headers);
    head.content_length = framing->content_length;
    head.chunked = framing->chunked;
    if (auto split = split_target(head); !split) return std::unexpected(std::move(split).error());
    return head;
}

Result<ResponseHead> parse_response_head(std::string_view bytes, const HeadLimits& limits) {
    auto broken = [](const HeadFault& why) {
        return failure(ErrorCode::protocol, "the answer is no proper HTTP: " + why.message);
    };
    HeadParser<false> parser;
    if (auto parsed = parse(parser, bytes, limits); !parsed) return broken(parsed.error());
    auto framing = read_framing(parser.headers, parser.version);
    if (!framing) return broken(framing.error());
    ResponseHead head;
    head.status = parser.status;
    head.keep_alive = wants_keep_alive(parser.headers, parser.version);
    head.headers = std::move(parser.headers);
    head.content_length = framing->content_length;
    head.chunked = framing->chunked;
    return head;
}

}  // namespace kcoral::net
