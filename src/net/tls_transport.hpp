// TlsContext: a certificate or trust store, ready to make TLS transports.
#pragma once

#include "base/error.hpp"
#include "net/tls.hpp"
#include "net/transport.hpp"

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace kcoral::net {

class TlsContext {
  public:
    static Result<TlsContext> for_server(const TlsServerOptions& options);
    static Result<TlsContext> for_client(const TlsClientOptions& options);

    // Borrows the socket; the context may go first.
    std::unique_ptr<Transport> accept(int socket) const;
    // `host`: whom the certificate must name, a name or an address.
    std::unique_ptr<Transport> connect(int socket, const std::string& host) const;

  private:
    explicit TlsContext(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}
    std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace kcoral::net
