// JsonPath: where in a document something stands, for messages: "instructions[3].args".
//
// A chain of steps on the stack: naming a child costs nothing until text() is asked for. Each step
// must outlive its children.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kcoral::protocol {

class JsonPath {
  public:
    // Whether the paths of what is below begin with the root's name: "program: unknown field", but
    // "instructions[3]: unknown field".
    enum class Root { hidden, shown };
    JsonPath(std::string_view name, Root root) : name_(name), is_hidden_(root == Root::hidden) {}

    JsonPath child(std::string_view name) const { return JsonPath(this, name, no_index); }
    JsonPath item(std::size_t index) const { return JsonPath(this, {}, index); }

    std::string text() const;

  private:
    static constexpr std::size_t no_index = static_cast<std::size_t>(-1);

    JsonPath(const JsonPath* parent, std::string_view name, std::size_t index)
        : parent_(parent), name_(name), index_(index) {}
    void append_to(std::string& text) const;

    const JsonPath* parent_ = nullptr;
    std::string_view name_;
    std::size_t index_ = no_index;
    bool is_hidden_ = false;
};

}  // namespace kcoral::protocol
