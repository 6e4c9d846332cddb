// Making a certificate by OpenSSL, as `openssl req -x509` does.
#include "net/testing/certificate.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace kcoral::net {

namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

File open_for_writing(const std::string& path) {
    File file(std::fopen(path.c_str(), "w"), std::fclose);
    if (!file) throw std::runtime_error("cannot write " + path);
    return file;
}

}  // namespace

Certificate::Certificate() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kcoral-tls-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot make a folder");
    directory_ = pattern;
    certificate_file_ = directory_ + "/certificate.pem";
    key_file_ = directory_ + "/key.pem";
    renew();
}

Certificate::~Certificate() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
}

void Certificate::renew() {
    std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(::EVP_EC_gen("P-256"), ::EVP_PKEY_free);
    std::unique_ptr<X509, void (*)(X509*)> certificate(::X509_new(), ::X509_free);
    X509* x509 = certificate.get();
    ::X509_set_version(x509, X509_VERSION_3);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(x509), std::rand());
    ::X509_gmtime_adj(::X509_getm_notBefore(x509), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(x509), 3600);
    ::X509_set_pubkey(x509, key.get());
    X509_NAME* name = ::X509_get_subject_name(x509);
    auto* common_name = reinterpret_cast<const unsigned char*>("kcoral test");
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0);
    ::X509_set_issuer_name(x509, name);
    std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> names(
        ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost"),
        ::X509_EXTENSION_free);
    ::X509_add_ext(x509, names.get(), -1);
    ::X509_sign(x509, key.get(), ::EVP_sha256());
    ::PEM_write_X509(open_for_writing(certificate_file_).get(), x509);
    ::PEM_write_PrivateKey(open_for_writing(key_file_).get(), key.get(), nullptr, nullptr, 0,
                           nullptr, nullptr);
}

}  // namespace kcoral::net
