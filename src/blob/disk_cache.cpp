// The disk cache as the loop sees it: calls hop to the pool, one at a time a digest.
#include "blob/disk_cache.hpp"

#include "base/offload.hpp"
#include "base/signal.hpp"
#include "blob/disk_store.hpp"

#include <boost/asio/post.hpp>

#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace kcoral::blob {

namespace asio = boost::asio;

namespace {

using Table = std::unordered_map<Digest, std::shared_ptr<Signal>>;

// The entry of a search in the table, which goes however the search ends.
class Search {
  public:
    Search(Table& table, const Digest& digest, asio::any_io_executor loop)
        : table_(table), digest_(digest), over_(std::make_shared<Signal>(std::move(loop))) {
        table_.emplace(digest_, over_);
    }
    ~Search() {
        table_.erase(digest_);
        over_->notify();
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

  private:
    Table& table_;
    const Digest digest_;
    const std::shared_ptr<Signal> over_;
};

}  // namespace

struct DiskCache::Core {
    explicit Core(asio::any_io_executor executor) : pool(std::move(executor)) {}

    const asio::any_io_executor pool;
    std::shared_ptr<DiskStore> store;  // null: no disk cache
    // Digests somebody is looking for. Many requests for a file that is not verified yet wait for
    // the first instead of all hashing it.
    Table searches;
};

DiskCache::DiskCache(Options options, asio::any_io_executor pool)
    : core_(std::make_shared<Core>(std::move(pool))) {
    if (options.directory.empty() || options.capacity_bytes == 0) return;
    core_->store = std::make_shared<DiskStore>(options);
    asio::post(core_->pool, [store = core_->store] { store->prepare(); });
}

DiskCache::~DiskCache() = default;

bool DiskCache::enabled() const {
    return core_->store != nullptr;
}

asio::awaitable<std::optional<CachedFile>> DiskCache::find(Digest digest) {
    auto core = core_;
    if (!core->store) co_return std::nullopt;
    auto loop = co_await asio::this_coro::executor;
    for (auto other = core->searches.find(digest); other != core->searches.end();
         other = core->searches.find(digest)) {
        auto signal = other->second;
        co_await signal->wait();
    }
    Search search(core->searches, digest, loop);
    auto work = [store = core->store, digest] { return store->find(digest); };
    co_return co_await offload(core->pool, std::move(work));
}

asio::awaitable<bool> DiskCache::store(BlobPtr blob) {
    auto core = core_;
    if (!core->store) co_return false;
    auto work = [store = core->store, blob = std::move(blob)] { return store->store(*blob); };
    co_return co_await offload(core->pool, std::move(work));
}

DiskCache::Statistics DiskCache::statistics() const {
    return core_->store ? core_->store->statistics() : Statistics();
}

std::string DiskCache::default_directory() {
    auto absolute = [](const char* name) -> std::string_view {
        const char* value = std::getenv(name);
        return value && value[0] == '/' ? value : "";
    };
    if (auto cache = absolute("XDG_CACHE_HOME"); !cache.empty())
        return std::string(cache) + "/kcoral/files";
    if (auto home = absolute("HOME"); !home.empty())
        return std::string(home) + "/.cache/kcoral/files";
    return {};
}

}  // namespace kcoral::blob
