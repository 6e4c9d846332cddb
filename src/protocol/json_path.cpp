// The text of a path.
#include "protocol/json_path.hpp"

namespace kcoral::protocol {

std::string JsonPath::text() const {
    std::string text;
    if (is_hidden_)
        text = name_;
    else
        append_to(text);
    return text;
}

void JsonPath::append_to(std::string& text) const {
    if (is_hidden_) return;
    if (parent_) parent_->append_to(text);
    if (index_ != no_index) {
        text += '[';
        text += std::to_string(index_);
        text += ']';
        return;
    }
    if (!text.empty()) text += '.';
    text += name_;
}

}  // namespace kcoral::protocol
