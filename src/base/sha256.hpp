// SHA-256: the digest that names every blob, and the hasher that makes it.
#pragma once

#include "base/bytes.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kcoral {

// 32 bytes; as text 64 lowercase hexadecimal digits.
struct Digest {
    std::array<std::uint8_t, 32> bytes{};

    auto operator<=>(const Digest&) const = default;

    std::string hex() const;
    // Only the canonical form: exactly 64 of 0-9 a-f.
    static std::optional<Digest> from_hex(std::string_view text);
};

class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void update(ByteView bytes);
    // The digest of all updates; the hasher starts afresh.
    Digest finish();

    static Digest of(ByteView bytes);

  private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace kcoral

template <>
struct std::hash<kcoral::Digest> {
    // The digest is uniform already: its first word is hash enough.
    std::size_t operator()(const kcoral::Digest& digest) const noexcept {
        std::size_t word = 0;
        for (std::size_t i = 0; i < sizeof word; ++i)
            word = word << 8 | digest.bytes[i];
        return word;
    }
};
