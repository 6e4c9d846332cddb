// Writing JSON text.
#include "protocol/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace kcoral::protocol {

void JsonWriter::separate() {
    if (!first_) text_ += ',';
    first_ = false;
}

void JsonWriter::put_string(std::string_view value) {
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    text_ += '"';
    std::size_t plain = 0;  // where the run of bytes that need no escape began
    for (std::size_t i = 0; i < value.size(); ++i) {
        auto byte = static_cast<unsigned char>(value[i]);
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        text_ += value.substr(plain, i - plain);
        plain = i + 1;
        text_ += '\\';
        if (byte == '"' || byte == '\\') {
            text_ += value[i];
        } else if (byte == '\n') {
            text_ += 'n';
        } else if (byte == '\t') {
            text_ += 't';
        } else if (byte == '\r') {
            text_ += 'r';
        } else {
            text_ += "u00";
            text_ += hexadecimal[byte >> 4];
            text_ += hexadecimal[byte & 15];
        }
    }
    text_ += value.substr(plain);
    text_ += '"';
}

JsonWriter& JsonWriter::begin_object() {
    separate();
    text_ += '{';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::end_object() {
    text_ += '}';
    first_ = false;
    return *this;
}

JsonWriter& JsonWriter::begin_array() {
    separate();
    text_ += '[';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::end_array() {
    text_ += ']';
    first_ = false;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    put_string(name);
    text_ += ':';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::null() {
    return raw("null");
}

JsonWriter& JsonWriter::boolean(bool value) {
    return raw(value ? "true" : "false");
}

JsonWriter& JsonWriter::integer(const Integer& value) {
    if (auto small = value.to_int64()) return digits(*small);
    return raw(value.decimal());
}

JsonWriter& JsonWriter::digits(std::int64_t value) {
    std::array<char, 24> buffer;
    auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return raw({buffer.data(), end});
}

JsonWriter& JsonWriter::digits(std::uint64_t value) {
    std::array<char, 24> buffer;
    auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return raw({buffer.data(), end});
}

JsonWriter& JsonWriter::number(double value) {
    if (!std::isfinite(value)) throw std::invalid_argument("JSON has no NaN and no infinity");
    std::array<char, 32> buffer;
    auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    std::string_view text(buffer.data(), end);
    raw(text);
    if (text.find_first_of(".e") == std::string_view::npos) text_ += ".0";
    return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
    separate();
    put_string(value);
    return *this;
}

JsonWriter& JsonWriter::json(const Json& value) {
    switch (value.kind()) {
        case Json::Kind::null:
            return null();
        case Json::Kind::boolean:
            return boolean(*value.boolean());
        case Json::Kind::integer:
            return integer(*value.integer());
        case Json::Kind::number:
            return number(*value.number());
        case Json::Kind::string:
            return string(*value.string());
        case Json::Kind::array:
            begin_array();
            for (const Json& item : *value.array())
                json(item);
            return end_array();
        case Json::Kind::object:
            begin_object();
            for (const JsonMember& member : *value.object())
                key(member.name).json(member.value);
            return end_object();
    }
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json_text) {
    separate();
    text_ += json_text;
    return *this;
}

}  // namespace kcoral::protocol
