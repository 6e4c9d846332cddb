// The console log: one line a message on standard error, for the person who runs the program.
//
// Safe from any thread. Structured events for machines are the event log's job, not this one's.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace kcoral::log {

enum class Level { debug, info, warning, error, off };

// Messages below `level` are dropped. The default is info.
void set_level(Level level);

void write(Level level, std::string_view message);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace kcoral::log
