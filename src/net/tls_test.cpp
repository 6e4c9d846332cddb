// TLS, our client against our server.
#include "net/http_client.hpp"
#include "net/testing/blocking_client.hpp"
#include "net/testing/certificate.hpp"
#include "net/testing/raw_client.hpp"
#include "net/testing/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kcoral::net {
namespace {

using ::testing::HasSubstr;

ServerOptions with_tls(const Certificate& certificate) {
    ServerOptions options;
    options.tls = TlsServerOptions{certificate.certificate_file(), certificate.key_file()};
    return options;
}

ClientOptions trusting(const Certificate& certificate) {
    ClientOptions options;
    options.tls.ca_file = certificate.certificate_file();
    return options;
}

TEST(Tls, CarriesRequestsOnAKeptConnection) {
    Certificate certificate;
    TestServer server(with_tls(certificate));
    EXPECT_THAT(server.server().url(), HasSubstr("https://127.0.0.1:"));
    BlockingClient client(server.server().url(), trusting(certificate));
    for (int i = 0; i < 3; ++i) {
        auto response = client.get("/hello?" + std::to_string(i));
        ASSERT_TRUE(response) << response.error().error.message;
        EXPECT_EQ(client.read_all(response), "hello /hello?" + std::to_string(i));
        EXPECT_EQ(server.on_loop([&] { return server.server().connection_count(); }), 1u);
    }
}

TEST(Tls, CarriesLargeBodiesAndFiles) {
    Certificate certificate;
    TestServer server(with_tls(certificate));
    BlockingClient client(server.server().url(), trusting(certificate));
    std::string content;
    for (int i = 0; content.size() < 8'000'000; ++i)
        content += std::to_string(i);
    auto file = make_memory_file("test");
    ASSERT_TRUE(file && write_all(*file, as_bytes(content)));
    auto shared = std::make_shared<const Fd>(std::move(*file));
    Pieces body;
    std::string expected;
    for (int i = 0; i < 40; ++i) {
        body.emplace_back("small,");
        expected += "small,";
    }
    body.emplace_back(FileRange{shared, 1, 7'000'000});
    body.emplace_back(SharedBytes(std::make_shared<const std::string>(content)));
    expected += content.substr(1, 7'000'000) + content;
    auto response = client.post("/echo", std::move(body));
    ASSERT_TRUE(response) << response.error().error.message;
    auto text = client.read_all(response);
    ASSERT_TRUE(text);
    EXPECT_TRUE(*text == expected);
}

TEST(Tls, RefusesCertificatesThatAreNotTrustedOrNameAnother) {
    Certificate certificate, other;
    TestServer server(with_tls(certificate));
    std::string port = std::to_string(server.port());
    // Why it failed; empty when it did not.
    auto failure_at = [&](const std::string& host, ClientOptions options) {
        BlockingClient client("https://" + host + ":" + port, std::move(options));
        auto response = client.get("/hello");
        if (response) return std::string();
        EXPECT_EQ(response.error().stage, Stage::connect);
        return response.error().error.message;
    };
    auto not_accepted = HasSubstr("certificate was not accepted");
    EXPECT_THAT(failure_at("127.0.0.1", trusting(other)), not_accepted);
    EXPECT_THAT(failure_at("127.0.0.1", {}), not_accepted);  // unknown to the system's authorities
    EXPECT_EQ(failure_at("localhost", trusting(certificate)), "");
    // 127.0.0.2 is the same server, but not in the certificate.
    ServerOptions everywhere = with_tls(certificate);
    everywhere.address = "0.0.0.0";
    TestServer wide(everywhere);
    port = std::to_string(wide.port());
    EXPECT_EQ(failure_at("127.0.0.1", trusting(certificate)), "");
    EXPECT_THAT(failure_at("127.0.0.2", trusting(certificate)), not_accepted);
    ClientOptions trusting_all;
    trusting_all.tls.verify = false;
    EXPECT_EQ(failure_at("127.0.0.2", trusting_all), "");
}

TEST(Tls, ReloadServesTheNewCertificateToNewConnections) {
    Certificate certificate;
    TestServer server(with_tls(certificate));
    auto is_served = [](BlockingClient& client) {
        auto response = client.get("/hello");
        return response && client.read_all(response) == "hello /hello";
    };
    BlockingClient old(server.server().url(), trusting(certificate));
    EXPECT_TRUE(is_served(old));
    certificate.renew();
    BlockingClient fresh(server.server().url(), trusting(certificate));
    EXPECT_FALSE(is_served(fresh));
    ASSERT_TRUE(server.on_loop([&] { return server.server().reload_tls(); }));
    EXPECT_TRUE(is_served(fresh));
    EXPECT_TRUE(is_served(old));  // its connection is kept

    std::ofstream(certificate.key_file()) << "nonsense";
    EXPECT_FALSE(server.on_loop([&] { return server.server().reload_tls(); }));
    BlockingClient later(server.server().url(), trusting(certificate));
    EXPECT_TRUE(is_served(later));
}

TEST(Tls, NamesFilesThatCannotBeUsed) {
    Certificate certificate, other;
    boost::asio::io_context loop(1);
    auto attempt = [&](std::string certificate_file, std::string key_file) {
        ServerOptions options;
        options.tls = TlsServerOptions{std::move(certificate_file), std::move(key_file)};
        auto server =
            HttpServer::create(loop, options, route({}, plain_error_body), plain_error_body);
        return server ? "" : server.error().message;
    };
    EXPECT_THAT(attempt("/nowhere.pem", certificate.key_file()), HasSubstr("/nowhere.pem"));
    EXPECT_THAT(attempt(certificate.certificate_file(), "/nowhere.key"), HasSubstr("nowhere.key"));
    EXPECT_THAT(attempt(certificate.certificate_file(), other.key_file()),
                HasSubstr(other.key_file()));
}

TEST(Tls, DropsClientsThatDoNotSpeakIt) {
    Certificate certificate;
    ServerOptions options = with_tls(certificate);
    options.head_timeout = std::chrono::milliseconds(50);
    TestServer server(options);
    RawClient plain(server.port());
    plain.send(make_head("GET", "/hello"));
    plain.read_to_end();
    RawClient silent(server.port());
    EXPECT_EQ(silent.read_to_end(), "");
    while (server.on_loop([&] { return server.server().connection_count(); }) != 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace kcoral::net
