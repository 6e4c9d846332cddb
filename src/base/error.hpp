// Error and Result: how every room reports that something could not be done.
//
// An Error carries a code that says what the caller can do next, one sentence for people, and the
// place where it arose. Absence that is expected is an optional, not an Error.
#pragma once

#include <expected>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace kcoral {

enum class ErrorCode {
    bad_request,  // the input is wrong: mend it
    too_large,    // a limit was passed: send less or raise the limit
    not_found,    // the named thing is not there
    busy,         // no room now: try again
    timeout,      // a deadline passed
    cancelled,    // somebody asked us to stop
    unavailable,  // a component is missing on this machine
    closed,       // the peer went away
    io,           // the operating system refused
    protocol,     // the peer broke the agreed format
    internal,     // our own fault
};

std::string_view to_string(ErrorCode code);

struct [[nodiscard]] Error {
    ErrorCode code;
    std::string message;
    std::source_location where;

    Error(ErrorCode code, std::string message,
          std::source_location where = std::source_location::current())
        : code(code), message(std::move(message)), where(where) {}

    // The same error with `context` in front: "opening the log: permission denied".
    Error within(std::string_view context) &&;
};

template <typename T>
using Result = std::expected<T, Error>;

using Failure = std::unexpected<Error>;

// `return failure(ErrorCode::io, "...")` from any function that returns a Result.
inline Failure failure(ErrorCode code, std::string message,
                       std::source_location where = std::source_location::current()) {
    return Failure(Error(code, std::move(message), where));
}

// The one place where errno becomes an Error: "<what>: <strerror>". ENOENT is not_found, EAGAIN
// busy, EPIPE and ECONNRESET closed, everything else io.
Error system_error(std::string_view what, int error_number,
                   std::source_location where = std::source_location::current());

// The same for the current errno, wrapped for `return`.
Failure errno_failure(std::string_view what,
                      std::source_location where = std::source_location::current());

}  // namespace kcoral

#define KCORAL_CONCAT_INNER(a, b) a##b
#define KCORAL_CONCAT(a, b) KCORAL_CONCAT_INNER(a, b)

#define KCORAL_TRY_IMPL(result, leave, ...)                     \
    do {                                                        \
        if (auto&& result = (__VA_ARGS__); !result)             \
            leave ::kcoral::Failure(std::move(result).error()); \
    } while (false)

#define KCORAL_TRY_ASSIGN_IMPL(result, leave, declaration, ...)      \
    auto&& result = (__VA_ARGS__);                                   \
    if (!result) leave ::kcoral::Failure(std::move(result).error()); \
    declaration = std::move(*result)

// TRY(expr): leave the function with expr's error, if it has one.
#define TRY(...) KCORAL_TRY_IMPL(KCORAL_CONCAT(try_result_, __LINE__), return, __VA_ARGS__)
// TRY_ASSIGN(auto value, expr): the same, and keep the value.
#define TRY_ASSIGN(declaration, ...) \
    KCORAL_TRY_ASSIGN_IMPL(KCORAL_CONCAT(try_result_, __LINE__), return, declaration, __VA_ARGS__)
// Their twins for coroutines. The awaited expression must be named first (g++ 12), so these take
// finished results, not `co_await` expressions with temporaries.
#define CO_TRY(...) KCORAL_TRY_IMPL(KCORAL_CONCAT(try_result_, __LINE__), co_return, __VA_ARGS__)
#define CO_TRY_ASSIGN(declaration, ...)                                                  \
    KCORAL_TRY_ASSIGN_IMPL(KCORAL_CONCAT(try_result_, __LINE__), co_return, declaration, \
                           __VA_ARGS__)
