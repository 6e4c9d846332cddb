// Boundary and part headers.
#include "protocol/multipart_writer.hpp"

#include <fmt/format.h>

#include <random>

namespace kcoral::protocol {

std::string make_boundary() {
    std::random_device random;  // of the operating system or processor: nobody foretells it
    std::string boundary = "kcoral-";
    for (int i = 0; i < 5; ++i)
        boundary += fmt::format("{:08x}", random());
    return boundary;
}

MultipartFrame::MultipartFrame(std::span<const OutgoingPart> parts) : boundary_(make_boundary()) {
    heads_.reserve(parts.size());
    for (const OutgoingPart& part : parts) {
        heads_.push_back(
            fmt::format("{}--{}\r\n"
                        "Content-Disposition: form-data; name=\"{}\"\r\n"
                        "Content-Type: {}\r\n"
                        "\r\n",
                        heads_.empty() ? "" : "\r\n", boundary_, part.name, part.content_type));
        content_length_ += heads_.back().size() + part.size;
    }
    closing_ = fmt::format("{}--{}--\r\n", heads_.empty() ? "" : "\r\n", boundary_);
    content_length_ += closing_.size();
}

std::string MultipartFrame::content_type() const {
    return "multipart/form-data; boundary=" + boundary_;
}

}  // namespace kcoral::protocol
