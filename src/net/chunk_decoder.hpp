// ChunkDecoder: takes the chunked transfer encoding off a body, without copying it.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <memory>

namespace kcoral::net {

class ChunkDecoder {
  public:
    struct Output {
        std::size_t consumed = 0;  // of the input, up to the end of `data`
        ByteView data;             // a part of the input; empty: more input is needed, or finished
    };

    ChunkDecoder();
    ~ChunkDecoder();

    // Decodes the next bit of `input`, which begins where the last call stopped consuming. Not
    // after finished(). Trailers are read and dropped.
    Result<Output> decode(ByteView input);
    bool finished() const;

  private:
    class Parser;
    std::unique_ptr<Parser> parser_;
};

}  // namespace kcoral::net
