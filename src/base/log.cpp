// The console log by spdlog, kept out of every other file's compile time.
#include "base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace kcoral::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warning:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
        case Level::off:
            return spdlog::level::off;
    }
    return spdlog::level::info;
}

spdlog::logger& logger() {
    static const auto instance = [] {
        auto made = spdlog::stderr_color_mt("kcoral");
        made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
        made->flush_on(spdlog::level::debug);
        return made;
    }();
    return *instance;
}

}  // namespace

void set_level(Level level) {
    logger().set_level(to_spdlog(level));
}

void write(Level level, std::string_view message) {
    logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace kcoral::log
