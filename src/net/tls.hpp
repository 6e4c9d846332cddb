// What TLS needs to be told, for servers and clients.
#pragma once

#include <string>

namespace kcoral::net {

struct TlsServerOptions {
    std::string certificate_file;  // PEM: the certificate, then its chain
    std::string key_file;          // PEM
};

struct TlsClientOptions {
    std::string ca_file;  // PEM; empty: the system's certificate authorities
    bool verify = true;   // false: accept any certificate, for tests
};

}  // namespace kcoral::net
