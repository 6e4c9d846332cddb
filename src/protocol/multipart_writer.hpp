// MultipartFrame: the text around the payloads of a multipart/form-data body.
//
// Payloads are never touched: the sender writes head(0), payload 0, head(1), payload 1, ...,
// closing(). The boundary is random, drawn once the data exist, so that nobody could have put it
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kcoral::protocol {

struct OutgoingPart {
    std::string name;  // as in the contract: nothing in it needs quoting
    std::string content_type;
    std::uint64_t size = 0;  // of the payload
};

class MultipartFrame {
  public:
    explicit MultipartFrame(std::span<const OutgoingPart> parts);

    // The value of the Content-Type header.
    std::string content_type() const;
    // What precedes the payload of part `i`, the line end after payload `i - 1` included.
    const std::string& head(std::size_t i) const { return heads_[i]; }
    std::size_t parts() const { return heads_.size(); }
    const std::string& closing() const { return closing_; }
    // Of the whole body, exactly.
    std::uint64_t content_length() const { return content_length_; }

  private:
    std::string boundary_;
    std::vector<std::string> heads_;
    std::string closing_;
    std::uint64_t content_length_ = 0;
};

// A fresh boundary: 160 random bits.
std::string make_boundary();

}  // namespace kcoral::protocol
