// Names of error codes and the translation of errno.
#include "base/error.hpp"

#include <cerrno>
#include <system_error>

namespace kcoral {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_request:
            return "bad_request";
        case ErrorCode::too_large:
            return "too_large";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::busy:
            return "busy";
        case ErrorCode::timeout:
            return "timeout";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::unavailable:
            return "unavailable";
        case ErrorCode::closed:
            return "closed";
        case ErrorCode::io:
            return "io";
        case ErrorCode::protocol:
            return "protocol";
        case ErrorCode::internal:
            return "internal";
    }
    return "unknown";
}

Error Error::within(std::string_view context) && {
    message = std::string(context) + ": " + message;
    return std::move(*this);
}

namespace {

ErrorCode code_of(int error_number) {
    switch (error_number) {
        case ENOENT:
            return ErrorCode::not_found;
        case EAGAIN:
            return ErrorCode::busy;
        case EPIPE:
        case ECONNRESET:
            return ErrorCode::closed;
        default:
            return ErrorCode::io;
    }
}

}  // namespace

Error system_error(std::string_view what, int error_number, std::source_location where) {
    std::string message(what);
    message += ": ";
    message += std::generic_category().message(error_number);
    return Error(code_of(error_number), std::move(message), where);
}

Failure errno_failure(std::string_view what, std::source_location where) {
    return Failure(system_error(what, errno, where));
}

}  // namespace kcoral
