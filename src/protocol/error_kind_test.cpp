#include "protocol/error_kind.hpp"

#include <gtest/gtest.h>

namespace kcoral::protocol {
namespace {

TEST(ErrorKind, HasTheContractsWordsAndStatuses) {
    struct Row {
        ErrorKind kind;
        std::string_view text;
        int status;
    };
    for (auto [kind, text, status] : {
             Row{ErrorKind::parse, "parse", 400},
             Row{ErrorKind::request_too_large, "request_too_large", 413},
             Row{ErrorKind::busy, "busy", 503},
             Row{ErrorKind::timeout, "timeout", 504},
             Row{ErrorKind::engine, "engine", 500},
             Row{ErrorKind::response_too_large, "response_too_large", 500},
             Row{ErrorKind::server_transport, "server_transport", 502},
             Row{ErrorKind::compile, "compile", 200},
             Row{ErrorKind::runtime, "runtime", 200},
             Row{ErrorKind::gpu_access, "gpu_access", 200},
             Row{ErrorKind::correctness, "correctness", 200},
             Row{ErrorKind::serialization, "serialization", 200},
             Row{ErrorKind::unavailable, "unavailable", 200},
         }) {
        EXPECT_EQ(to_string(kind), text);
        EXPECT_EQ(error_kind_from(text), kind);
        EXPECT_EQ(http_status(kind), status) << text;
    }
    EXPECT_EQ(error_kind_from("Parse"), std::nullopt);
    EXPECT_EQ(error_kind_from(""), std::nullopt);
}

}  // namespace
}  // namespace kcoral::protocol
