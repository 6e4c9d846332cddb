// Descriptors for a worker.
#include "engine/blob_packing.hpp"

namespace kcoral::engine {
namespace {

class Packer {
  public:
    explicit Packer(worker::Execute& program) : program_(program) {}

    Result<void> add(const Supply& supply) {
        if (auto* cached = std::get_if<std::shared_ptr<const blob::CachedFile>>(&supply.bytes))
            return add_file(supply.digest, (*cached)->file, (*cached)->size);
        auto* pin = std::get_if<blob::Pin>(&supply.bytes);
        const blob::Blob& blob = pin ? **pin : *std::get<blob::BlobPtr>(supply.bytes);
        return blob.file() ? add_file(supply.digest, *blob.file(), blob.size())
                           : add_small(supply.digest, blob.view());
    }

    Result<void> finish() {
        if (!small_index_) return {};
        Fd& file = program_.files[*small_index_];
        TRY(write_all(file, as_bytes(small_bytes_)));
        return seal_memory_file(file);
    }

  private:
    std::uint32_t next_index() const { return static_cast<std::uint32_t>(program_.files.size()); }

    Result<void> add_file(const Digest& digest, const Fd& file, std::uint64_t size) {
        TRY_ASSIGN(Fd copy, file.duplicate());
        program_.blobs.push_back({digest, next_index(), 0, size});
        program_.files.push_back(std::move(copy));
        return {};
    }

    Result<void> add_small(const Digest& digest, ByteView bytes) {
        if (!small_index_) {
            TRY_ASSIGN(Fd file, make_memory_file("kcoral-small-blobs"));
            small_index_ = next_index();
            program_.files.push_back(std::move(file));
        }
        program_.blobs.push_back({digest, *small_index_, small_bytes_.size(), bytes.size()});
        small_bytes_ += as_text(bytes);
        return {};
    }

    worker::Execute& program_;
    std::optional<std::uint32_t> small_index_;
    std::string small_bytes_;
};

}  // namespace

Result<void> pack_blobs(const std::vector<Supply>& supplies, worker::Execute& program) {
    Packer packer(program);
    for (const Supply& supply : supplies)
        TRY(packer.add(supply));
    return packer.finish();
}

}  // namespace kcoral::engine
