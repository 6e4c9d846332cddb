// UUIDs by Boost.Uuid, each of them straight from the operating system's randomness: a process
// forked from another would repeat the numbers of a generator it inherited.
#include "base/uuid.hpp"

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace kcoral {

std::string make_uuid() {
    thread_local boost::uuids::random_generator_pure generator;
    return boost::uuids::to_string(generator());
}

bool is_canonical_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (dash ? c != '-' : !digit) return false;
    }
    return true;
}

}  // namespace kcoral
