// A counter and the queue of those who wait for it.
#include "blob/upload_budget.hpp"

#include "base/signal.hpp"

#include <list>
#include <utility>

namespace kcoral::blob {

namespace asio = boost::asio;

namespace {

struct Waiter {
    Waiter(std::uint64_t wanted, asio::any_io_executor loop)
        : bytes(wanted), signal(std::move(loop)) {}

    const std::uint64_t bytes;
    Signal signal;
    UploadBudget::Permit permit;
    bool granted = false;
};

}  // namespace

struct UploadBudget::State : std::enable_shared_from_this<State> {
    explicit State(std::uint64_t bytes) : capacity(bytes) {}

    const std::uint64_t capacity;
    std::uint64_t in_use = 0;
    std::list<Waiter*> queue;

    bool fits(std::uint64_t bytes) const {
        return in_use == 0 || (in_use <= capacity && bytes <= capacity - in_use);
    }
    Permit take(std::uint64_t bytes) {
        in_use += bytes;
        return Permit(shared_from_this(), bytes);
    }
    void give_back(std::uint64_t bytes) {
        in_use -= bytes;
        grant();
    }
    void grant() {
        while (!queue.empty() && fits(queue.front()->bytes)) {
            Waiter& next = *queue.front();
            queue.pop_front();
            next.permit = take(next.bytes);
            next.granted = true;
            next.signal.notify();
        }
    }

    // A waiter's place in the queue, which it leaves however its wait ends.
    struct Place {
        State& state;
        Waiter& waiter;
        std::list<Waiter*>::iterator position;
        Place(State& owner, Waiter& who)
            : state(owner), waiter(who), position(owner.queue.insert(owner.queue.end(), &who)) {}
        ~Place() {
            if (waiter.granted) return;
            state.queue.erase(position);
            // Those behind may fit where this one did not.
            state.grant();
        }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
    };
};

UploadBudget::Permit::Permit(std::shared_ptr<State> state, std::uint64_t bytes)
    : state_(std::move(state)), bytes_(bytes) {}

UploadBudget::Permit::Permit(Permit&& other) noexcept
    : state_(std::move(other.state_)), bytes_(std::exchange(other.bytes_, 0)) {}

UploadBudget::Permit& UploadBudget::Permit::operator=(Permit&& other) noexcept {
    Permit taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(bytes_, taken.bytes_);
    return *this;
}

UploadBudget::Permit::~Permit() {
    shrink(0);
}

void UploadBudget::Permit::shrink(std::uint64_t bytes) {
    if (bytes >= bytes_) return;
    std::uint64_t surplus = bytes_ - bytes;
    bytes_ = bytes;
    state_->give_back(surplus);
}

UploadBudget::UploadBudget(std::uint64_t capacity_bytes)
    : state_(std::make_shared<State>(capacity_bytes)) {}

UploadBudget::~UploadBudget() = default;

asio::awaitable<UploadBudget::Permit> UploadBudget::acquire(std::uint64_t bytes) {
    auto state = state_;
    if (state->queue.empty() && state->fits(bytes)) co_return state->take(bytes);
    auto loop = co_await asio::this_coro::executor;
    Waiter waiter(bytes, loop);
    State::Place place(*state, waiter);
    while (!waiter.granted)
        co_await waiter.signal.wait();
    co_return std::move(waiter.permit);
}

std::uint64_t UploadBudget::capacity() const {
    return state_->capacity;
}

std::uint64_t UploadBudget::in_use() const {
    return state_->in_use;
}

std::size_t UploadBudget::waiting() const {
    return state_->queue.size();
}

}  // namespace kcoral::blob
