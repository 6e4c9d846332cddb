// ValueText: the JSON text of a value tree on its way to the server, written from left to right.
//
// The tree goes straight to its text: a list of a million numbers needs no million nodes. Parts are
// numbered in the order they are written. It is the form that protocol's decode_value reads with
// Digests::absent.
#pragma once

#include "protocol/dtype.hpp"
#include "protocol/json_writer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kcoral::worker {

class ValueText {
  public:
    void null();
    void boolean(bool value);
    void integer(std::int64_t value);
    void integer(std::string_view digits);
    void number(double value);  // finite
    void string(std::string_view utf8);
    void bytes(std::uint64_t size);
    void tensor(protocol::Dtype dtype, std::span<const std::int64_t> shape, std::uint64_t size);
    void file(std::uint64_t size);

    // Containers: begin, then the children (objects: key() before each), then end.
    void begin_array();
    void end_array();
    void begin_object();
    void end_object();
    void key(std::string_view utf8) { writer_.key(utf8); }

    // A folder: begin, files by key() and file(), then its directories, which end it.
    void begin_folder();
    void end_folder(std::span<const std::string> directories);

    std::size_t size() const { return writer_.size(); }
    std::string take() && { return std::move(writer_).take(); }

  private:
    protocol::JsonWriter& typed(std::string_view type);
    void part();

    protocol::JsonWriter writer_;
    std::uint32_t parts_ = 0;
};

}  // namespace kcoral::worker
