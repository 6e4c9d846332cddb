// The strict parser: Boost.JSON reads the grammar, the handler here builds values and adds the
// rules that it leaves to others (members once, exact numbers, a bound on memory).
#include "base/utf8.hpp"
#include "protocol/json.hpp"
#include "protocol/quote.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace kcoral::protocol {
namespace {

namespace json = boost::json;

// Is the JSON number, which no double can hold, too large rather than too small? Decided by the
// place of its first digit that is not zero.
bool too_large(std::string_view number) {
    std::size_t e = number.find_first_of("eE");
    std::string_view mantissa = number.substr(0, e);
    std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    std::size_t digit = mantissa.find_first_of("123456789");
    if (digit == std::string_view::npos) return false;
    std::int64_t exponent = 0;
    if (e != std::string_view::npos) {
        std::string_view text = number.substr(e + 1);
        if (text.starts_with('+')) text.remove_prefix(1);
        std::from_chars(text.data(), text.data() + text.size(), exponent);
    }
    return static_cast<std::int64_t>(point) - static_cast<std::int64_t>(digit) + exponent > 0;
}

// The nearest double; nothing when the number is beyond all of them.
std::optional<double> to_double(std::string_view number) {
    double value = 0;
    auto result = std::from_chars(number.data(), number.data() + number.size(), value);
    if (result.ec == std::errc{}) return value;
    if (too_large(number)) return std::nullopt;
    return number.starts_with('-') ? -0.0 : 0.0;
}

// Sorting finds a repeated name in bounded time whatever the names; few are compared directly.
const std::string* repeated_name(const JsonObject& object) {
    auto first = object.begin();
    if (object.size() <= 8) {
        for (auto member = first; member != object.end(); ++member)
            for (auto other = first; other != member; ++other)
                if (other->name == member->name) return &member->name;
        return nullptr;
    }
    std::vector<const std::string*> names;
    names.reserve(object.size());
    for (const JsonMember& member : object)
        names.push_back(&member.name);
    auto dereferenced = [](const std::string* name) -> const std::string& { return *name; };
    std::ranges::sort(names, {}, dereferenced);
    auto twin = std::ranges::adjacent_find(names, {}, dereferenced);
    return twin == names.end() ? nullptr : *twin;
}

// Builds the value from the parser's events. `problem` says why when it stops the parse.
struct Builder {
    static constexpr std::size_t max_array_size = std::size_t(-1);
    static constexpr std::size_t max_object_size = std::size_t(-1);
    static constexpr std::size_t max_string_size = std::size_t(-1);
    static constexpr std::size_t max_key_size = std::size_t(-1);

    // Containers that are still open, the outermost first; an object's value waits for `key`.
    struct Open {
        Json container;
        std::string key;
    };

    std::size_t values_left;
    std::vector<Open> open;
    std::string text;  // the parts of a string, key or number so far
    Json root;
    std::string problem;

    explicit Builder(std::size_t max_values) : values_left(max_values) {}

    bool stop(std::string why, boost::system::error_code& ec) {
        problem = std::move(why);
        ec = json::error::syntax;
        return false;
    }

    bool add(Json value, boost::system::error_code& ec) {
        if (values_left == 0) return stop("there are too many values in this document", ec);
        --values_left;
        if (open.empty())
            root = std::move(value);
        else if (JsonArray* array = open.back().container.array())
            array->push_back(std::move(value));
        else
            open.back().container.object()->add(std::move(open.back().key), std::move(value));
        return true;
    }

    bool close(boost::system::error_code& ec) {
        Json container = std::move(open.back().container);
        open.pop_back();
        return add(std::move(container), ec);
    }

    // The whole text of a token whose earlier parts may lie in `text`.
    std::string_view whole(json::string_view last) {
        if (text.empty()) return {last.data(), last.size()};
        text.append(last.data(), last.size());
        return text;
    }

    bool number(json::string_view last, boost::system::error_code& ec) {
        std::string_view digits = whole(last);
        Json value;
        if (digits.find_first_of(".eE") == std::string_view::npos) {
            value = Json(*Integer::from_decimal(digits));
        } else {
            auto nearest = to_double(digits);
            if (!nearest)
                return stop(
                    fmt::format("the number {} is beyond the range of a double", quote(digits)),
                    ec);
            value = Json(*nearest);
        }
        text.clear();
        return add(std::move(value), ec);
    }

    bool on_document_begin(boost::system::error_code&) { return true; }
    bool on_document_end(boost::system::error_code&) { return true; }

    bool on_array_begin(boost::system::error_code&) {
        open.push_back({Json(JsonArray{}), {}});
        return true;
    }
    bool on_array_end(std::size_t, boost::system::error_code& ec) { return close(ec); }

    bool on_object_begin(boost::system::error_code&) {
        open.push_back({Json(JsonObject{}), {}});
        return true;
    }
    bool on_object_end(std::size_t, boost::system::error_code& ec) {
        if (const std::string* name = repeated_name(*open.back().container.object()))
            return stop(fmt::format("the object that ends here has the key {} twice", quote(*name)),
                        ec);
        return close(ec);
    }

    bool on_string_part(json::string_view part, std::size_t, boost::system::error_code&) {
        text.append(part.data(), part.size());
        return true;
    }
    bool on_string(json::string_view last, std::size_t, boost::system::error_code& ec) {
        std::string value(whole(last));
        text.clear();
        return add(Json(std::move(value)), ec);
    }
    bool on_key_part(json::string_view part, std::size_t, boost::system::error_code&) {
        text.append(part.data(), part.size());
        return true;
    }
    bool on_key(json::string_view last, std::size_t, boost::system::error_code&) {
        open.back().key = whole(last);
        text.clear();
        return true;
    }

    bool on_number_part(json::string_view part, boost::system::error_code&) {
        text.append(part.data(), part.size());
        return true;
    }
    // The parser's own numbers are not exact; the text is.
    bool on_int64(std::int64_t, json::string_view last, boost::system::error_code& ec) {
        return number(last, ec);
    }
    bool on_uint64(std::uint64_t, json::string_view last, boost::system::error_code& ec) {
        return number(last, ec);
    }
    bool on_double(double, json::string_view last, boost::system::error_code& ec) {
        return number(last, ec);
    }

    bool on_bool(bool value, boost::system::error_code& ec) { return add(Json(value), ec); }
    bool on_null(boost::system::error_code& ec) { return add(Json(), ec); }
    bool on_comment_part(json::string_view, boost::system::error_code&) { return true; }
    bool on_comment(json::string_view, boost::system::error_code&) { return true; }
};

Failure failure_at(std::string_view text, std::size_t offset, std::string_view what) {
    offset = std::min(offset, text.size());
    std::string_view before = text.substr(0, offset);
    auto line = std::ranges::count(before, '\n') + 1;
    std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return failure(ErrorCode::bad_request,
                   fmt::format("line {}, column {}: {}", line, offset - line_begin + 1, what));
}

constexpr const char* lone_surrogate = "a \\u escape of a lone surrogate stands for no character";

// Is this the escape of a leading surrogate, \ud800 to \udbff?
bool is_leading_surrogate(std::string_view escape) {
    return (escape.starts_with("\\ud") || escape.starts_with("\\uD")) &&
           std::string_view("89abAB").contains(escape[3]);
}

std::string explain(boost::system::error_code error, std::string_view text, std::size_t offset,
                    const JsonLimits& limits) {
    if (error == json::error::too_deep)
        return fmt::format("arrays and objects nest deeper than {} levels", limits.depth);
    if (error == json::error::incomplete)
        return text.find_first_not_of(" \t\r\n") == std::string_view::npos
                   ? "expected a JSON value, got nothing"
                   : "the JSON value is not complete";
    if (error == json::error::extra_data) return "expected nothing more after the JSON value";
    if (error == json::error::illegal_leading_surrogate ||
        error == json::error::illegal_trailing_surrogate)
        return lone_surrogate;
    if (error == json::error::expected_hex_digit)
        return "expected four hexadecimal digits after \\u";
    if (error == json::error::exponent_overflow)
        return "the exponent of a number is beyond 2147483647";
    if (!is_utf8(text)) return "the text is not UTF-8";
    if (offset >= text.size()) return "the JSON value is not complete";
    // A leading surrogate may be followed by nothing but the escape of a trailing one.
    std::size_t escape_end = (offset > 0 && text[offset - 1] == '\\') ? offset - 1 : offset;
    if (escape_end >= 6 && is_leading_surrogate(text.substr(escape_end - 6, 6)))
        return lone_surrogate;
    char got = text[offset];
    if (got >= 0x20 && got < 0x7F) return fmt::format("unexpected '{}'", got);
    return fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(got));
}

}  // namespace

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
    if (text.starts_with("\xEF\xBB\xBF"))
        return failure_at(text, 0, "a byte order mark is not allowed before the JSON value");
    json::parse_options options;
    options.max_depth = limits.depth;
    json::basic_parser<Builder> parser(options, limits.values);
    boost::system::error_code error;
    std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    if (!error && used < text.size()) error = json::error::extra_data;
    if (!error) return std::move(parser.handler().root);
    const std::string& problem = parser.handler().problem;
    return failure_at(text, used, problem.empty() ? explain(error, text, used, limits) : problem);
}

}  // namespace kcoral::protocol
