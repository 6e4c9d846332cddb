// Bytes through TLS, by OpenSSL working on the socket itself.
#include "net/tls_transport.hpp"

#include <boost/asio/ip/address.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace kcoral::net {

namespace {

constexpr std::size_t record_bytes = 16 << 10;  // the most that one TLS record carries

// The oldest of OpenSSL's queued complaints.
std::string openssl_reason() {
    const char* reason = ::ERR_reason_error_string(::ERR_get_error());
    ::ERR_clear_error();
    return reason ? reason : "unknown reason";
}

struct FreeSsl {
    void operator()(SSL* ssl) const { ::SSL_free(ssl); }
};

class TlsTransport final : public Transport {
  public:
    explicit TlsTransport(SSL* ssl) : ssl_(ssl) {}

    Result<Step> handshake() override {
        ::ERR_clear_error();
        int result = ::SSL_do_handshake(ssl_.get());
        if (result == 1) return Step{Step::Kind::done};
        return outcome(result, 0, "setting up TLS");
    }

    Result<Step> read(std::span<std::byte> room) override {
        ::ERR_clear_error();
        std::size_t count = 0;
        int result = ::SSL_read_ex(ssl_.get(), room.data(), room.size(), &count);
        return outcome(result, count, "receiving by TLS");
    }

    Result<Step> write(std::span<const iovec> parts, More) override {
        if (parts.front().iov_len >= record_bytes || parts.size() == 1)
            return write(parts.front().iov_base, parts.front().iov_len);
        // Small parts share a record. Asked again after a wait, they are the same bytes again, as
        // OpenSSL demands.
        std::array<std::byte, record_bytes> record;
        std::size_t size = 0;
        for (const iovec& part : parts) {
            std::size_t count = std::min(part.iov_len, record.size() - size);
            std::memcpy(record.data() + size, part.iov_base, count);
            size += count;
        }
        return write(record.data(), size);
    }

    Result<Step> send_file(int file, std::uint64_t offset, std::uint64_t length) override {
        std::array<std::byte, record_bytes> record;
        std::size_t size = std::min<std::uint64_t>(length, record.size());
        std::size_t have = 0;
        while (have < size) {
            ssize_t count =
                ::pread(file, record.data() + have, size - have, static_cast<off_t>(offset + have));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return errno_failure("reading a file to send");
            if (count == 0)
                return failure(ErrorCode::io, "a file became shorter while it was sent");
            have += static_cast<std::size_t>(count);
        }
        return write(record.data(), size);
    }

    void finish() override {
        ::ERR_clear_error();
        if (::SSL_is_init_finished(ssl_.get())) ::SSL_shutdown(ssl_.get());
        ::ERR_clear_error();
        ::shutdown(::SSL_get_fd(ssl_.get()), SHUT_WR);
    }

    bool holds_input() const override { return ::SSL_has_pending(ssl_.get()) == 1; }

  private:
    Result<Step> write(const void* bytes, std::size_t size) {
        ::ERR_clear_error();
        std::size_t count = 0;
        int result = ::SSL_write_ex(ssl_.get(), bytes, size, &count);
        return outcome(result, count, "sending by TLS");
    }

    Result<Step> outcome(int result, std::size_t count, const char* what) {
        if (result == 1) return Step{Step::Kind::done, count};
        int error_number = errno;
        switch (::SSL_get_error(ssl_.get(), result)) {
            case SSL_ERROR_WANT_READ:
                return Step{Step::Kind::want_read};
            case SSL_ERROR_WANT_WRITE:
                return Step{Step::Kind::want_write};
            case SSL_ERROR_ZERO_RETURN:
                return Step{Step::Kind::end};
            case SSL_ERROR_SYSCALL:
                if (error_number == 0)
                    return failure(ErrorCode::closed, "the peer closed the connection");
                return Failure(system_error(what, error_number));
            default:
                break;
        }
        long verdict = ::SSL_get_verify_result(ssl_.get());
        if (verdict != X509_V_OK)
            return failure(ErrorCode::protocol,
                           std::string("the peer's certificate was not accepted: ") +
                               ::X509_verify_cert_error_string(verdict));
        if (ERR_GET_REASON(::ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
            ::ERR_clear_error();
            return failure(ErrorCode::closed, "the peer closed the connection");
        }
        return failure(ErrorCode::protocol, std::string(what) + ": " + openssl_reason());
    }

    std::unique_ptr<SSL, FreeSsl> ssl_;
};

std::shared_ptr<SSL_CTX> make_context(const SSL_METHOD* method) {
    std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(method), ::SSL_CTX_free);
    ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                          SSL_MODE_RELEASE_BUFFERS);
    return context;
}

SSL* make_ssl(SSL_CTX* context, int socket) {
    SSL* ssl = ::SSL_new(context);
    ::SSL_set_fd(ssl, socket);
    return ssl;
}

bool is_address(const std::string& host) {
    boost::system::error_code error;
    boost::asio::ip::make_address(host, error);
    return !error;
}

}  // namespace

Result<TlsContext> TlsContext::for_server(const TlsServerOptions& options) {
    ::ERR_clear_error();
    auto context = make_context(::TLS_server_method());
    if (::SSL_CTX_use_certificate_chain_file(context.get(), options.certificate_file.c_str()) != 1)
        return failure(ErrorCode::bad_request, "the TLS certificate " + options.certificate_file +
                                                   " cannot be used: " + openssl_reason());
    if (::SSL_CTX_use_PrivateKey_file(context.get(), options.key_file.c_str(), SSL_FILETYPE_PEM) !=
        1)
        return failure(ErrorCode::bad_request,
                       "the TLS key " + options.key_file + " cannot be used: " + openssl_reason());
    if (::SSL_CTX_check_private_key(context.get()) != 1)
        return failure(ErrorCode::bad_request, "the TLS key " + options.key_file +
                                                   " does not belong to the certificate " +
                                                   options.certificate_file);
    return TlsContext(std::move(context));
}

Result<TlsContext> TlsContext::for_client(const TlsClientOptions& options) {
    ::ERR_clear_error();
    auto context = make_context(::TLS_client_method());
    if (!options.verify) return TlsContext(std::move(context));
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    int loaded = options.ca_file.empty()
                     ? ::SSL_CTX_set_default_verify_paths(context.get())
                     : ::SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str());
    if (loaded != 1)
        return failure(ErrorCode::bad_request, "the certificate authorities in " + options.ca_file +
                                                   " cannot be used: " + openssl_reason());
    return TlsContext(std::move(context));
}

std::unique_ptr<Transport> TlsContext::accept(int socket) const {
    SSL* ssl = make_ssl(context_.get(), socket);
    ::SSL_set_accept_state(ssl);
    return std::make_unique<TlsTransport>(ssl);
}

std::unique_ptr<Transport> TlsContext::connect(int socket, const std::string& host) const {
    SSL* ssl = make_ssl(context_.get(), socket);
    ::SSL_set_connect_state(ssl);
    if (is_address(host)) {
        ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str());
    } else {
        ::SSL_set1_host(ssl, host.c_str());
        ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   const_cast<char*>(host.c_str()));
    }
    return std::make_unique<TlsTransport>(ssl);
}

}  // namespace kcoral::net
