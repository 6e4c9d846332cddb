// SHA-256 by OpenSSL, which uses the processor's own instructions where there are any.
#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <new>

namespace kcoral {

std::string Digest::hex() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(64);
    for (std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
    if (text.size() != 64) return std::nullopt;
    Digest digest;
    for (std::size_t i = 0; i < 64; ++i) {
        char c = text[i];
        int value;
        if (c >= '0' && c <= '9')
            value = c - '0';
        else if (c >= 'a' && c <= 'f')
            value = c - 'a' + 10;
        else
            return std::nullopt;
        digest.bytes[i / 2] = static_cast<std::uint8_t>(digest.bytes[i / 2] << 4 | value);
    }
    return digest;
}

namespace {

// Looking the algorithm up by name costs more than hashing a small blob, so it is done once.
const EVP_MD* algorithm() {
    static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return md;
}

}  // namespace

struct Sha256::Context {
    EVP_MD_CTX* evp = EVP_MD_CTX_new();
    Context() {
        if (!evp || EVP_DigestInit_ex(evp, algorithm(), nullptr) != 1) throw std::bad_alloc();
    }
    ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(ByteView bytes) {
    EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
}

Digest Sha256::finish() {
    Digest digest;
    EVP_DigestFinal_ex(context_->evp, digest.bytes.data(), nullptr);
    EVP_DigestInit_ex(context_->evp, nullptr, nullptr);
    return digest;
}

Digest Sha256::of(ByteView bytes) {
    Sha256 hasher;
    hasher.update(bytes);
    return hasher.finish();
}

}  // namespace kcoral
