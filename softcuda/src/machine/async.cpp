#include "machine/async.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/block.h"
#include "machine/tensor_map.h"

namespace softcuda {

size_t Transfer::read() {
    if (state) state->read = true;
    return read_source();
}

size_t Transfer::land() {
    if (state) state->read = state->landed = true;
    return land_all();
}

size_t Transfer::read_source() {
    if (box && data.empty()) {
        box->gather(data);
        return data.size();
    }
    if (!from) return 0;
    data.assign(from, from + bytes);
    from = nullptr;
    return bytes;
}

size_t Transfer::land_all() {
    if (box && loads) {
        box->load();
        return 0;
    }
    if (box) {
        const size_t held = data.size();
        if (data.empty()) box->gather(data);
        box->store(data.data());
        return held;
    }
    const std::byte* source = from ? from : data.data();
    if (reduce) {
        reduce(to, source, bytes);
    } else if (chosen == 0xffff) {
        if (bytes) std::memmove(to, source, bytes);
    } else {
        for (uint32_t i = 0; i < bytes; ++i)
            if ((chosen >> (i % 16)) & 1) to[i] = source[i];
    }
    return data.size();
}

// --- of threads

void ThreadCopies::issue(Copy copy) {
    copy.number = issued_++;
    copy.group = committed_;
    copies_.push_back(copy);
    if (copies_.size() >= most_copies) land(most_copies / 2, all_lanes, [](const Copy&, size_t) { return true; });
}

void ThreadCopies::commit(uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) ++committed_[static_cast<size_t>(std::countr_zero(lanes))];
}

template <class Choose>
void ThreadCopies::land(size_t count, uint32_t lanes, Choose choose) {
    for (size_t k = 0; k < count; ++k) {
        Copy& copy = copies_[k];
        if (copy.lanes == 0) continue;
        for (uint32_t rest = copy.lanes & lanes; rest; rest &= rest - 1) {
            const auto i = static_cast<size_t>(std::countr_zero(rest));
            if (!choose(copy, i)) continue;
            auto* to = reinterpret_cast<std::byte*>(copy.to[i]);
            if (copy.wanted[i]) std::memcpy(to, reinterpret_cast<const void*>(copy.from[i]), copy.wanted[i]);
            if (copy.wanted[i] < copy.bytes) std::memset(to + copy.wanted[i], 0, copy.bytes - copy.wanted[i]);
            copy.lanes &= ~(1u << i);
        }
        landed_ += copy.lanes == 0;
    }
    if (2 * landed_ < copies_.size() || landed_ == 0) return;
    std::erase_if(copies_, [](const Copy& copy) { return copy.lanes == 0; });
    landed_ = 0;
}

void ThreadCopies::wait(uint32_t lanes, uint32_t left) {
    land(copies_.size(), lanes,
         [&](const Copy& copy, size_t i) { return copy.group[i] + uint64_t(left) < committed_[i]; });
}
void ThreadCopies::wait_all(uint32_t lanes) {
    land(copies_.size(), lanes, [](const Copy&, size_t) { return true; });
}
void ThreadCopies::land_before(int lane, uint64_t number) {
    const auto end = std::lower_bound(copies_.begin(), copies_.end(), number,
                                      [](const Copy& copy, uint64_t limit) { return copy.number < limit; });
    land(static_cast<size_t>(end - copies_.begin()), 1u << lane, [](const Copy&, size_t) { return true; });
}

void ThreadCopies::issue_bulk(int lane, Transfer transfer) {
    bulk_.push_back({lane, bulk_committed_[static_cast<size_t>(lane)], std::move(transfer)});
    if (bulk_.size() >= most_copies) land_bulk(most_copies / 2);
}
void ThreadCopies::commit_bulk(uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) ++bulk_committed_[static_cast<size_t>(std::countr_zero(lanes))];
}
void ThreadCopies::wait_bulk(uint32_t lanes, uint32_t left, bool only_read) {
    auto due = [&](const BulkCopy& copy) {
        return ((lanes >> copy.lane) & 1) &&
               copy.group + uint64_t(left) < bulk_committed_[static_cast<size_t>(copy.lane)];
    };
    for (BulkCopy& copy : bulk_) {
        if (!due(copy)) continue;
        if (only_read)
            bulk_read_ += copy.transfer.read();
        else
            bulk_read_ -= copy.transfer.land();
    }
    if (!only_read) std::erase_if(bulk_, due);
    if (bulk_read_ > most_read) finish_bulk();
}
void ThreadCopies::land_bulk(size_t count) {
    for (size_t i = 0; i < count; ++i) bulk_read_ -= bulk_[i].transfer.land();
    bulk_.erase(bulk_.begin(), bulk_.begin() + static_cast<ptrdiff_t>(count));
}
void ThreadCopies::clear() {
    copies_.clear();
    landed_ = 0;
    bulk_.clear();
    bulk_read_ = 0;
    committed_ = {};
    bulk_committed_ = {};
}

// --- of mbarriers

void AsyncQueue::transfer(uint64_t* barrier, Transfer transfer) {
    Pending pending;
    pending.barrier = barrier;
    pending.transfer = std::move(transfer);
    add(std::move(pending));
}

void AsyncQueue::arrive(uint64_t* barrier, ThreadCopies& copies, int lane) {
    Pending pending;
    pending.barrier = barrier;
    pending.copies = &copies;
    pending.lane = lane;
    pending.before = copies.issued();
    add(std::move(pending));
}

void AsyncQueue::add(Pending pending) {
    pending_.push_back(std::move(pending));
    if (pending_.size() >= most_for_barriers) finish(most_for_barriers / 2);
}

// False: an arrival that nobody expects.
bool AsyncQueue::Pending::apply(Mbarrier& to) const {
    if (copies) {
        if (to.pending == 0) return false;
        to.pending = to.pending - 1;
    } else {
        to.transactions = to.transactions - transfer.bytes;
    }
    to.settle();
    return true;
}

void AsyncQueue::Pending::perform() {
    if (copies)
        copies->land_before(lane, before);
    else
        transfer.land();
    auto state = std::bit_cast<Mbarrier>(*barrier);
    apply(state);
    *barrier = std::bit_cast<uint64_t>(state);
}

void AsyncQueue::settle(uint64_t* barrier) {
    const auto now = std::bit_cast<Mbarrier>(*barrier);
    Mbarrier trial = now;
    size_t last = pending_.size();
    for (size_t i = 0; i < pending_.size(); ++i) {
        if (pending_[i].barrier != barrier) continue;
        if (!pending_[i].apply(trial)) return;
        if (trial.phase != now.phase) {
            last = i;
            break;
        }
    }
    if (last == pending_.size()) return;
    for (size_t i = 0; i <= last; ++i)
        if (pending_[i].barrier == barrier) pending_[i].perform();
    size_t index = 0;
    std::erase_if(pending_, [&](const Pending& pending) { return index++ <= last && pending.barrier == barrier; });
}

uint64_t AsyncQueue::under_way(const uint64_t* barrier) const {
    uint64_t bytes = 0;
    for (const Pending& pending : pending_)
        if (pending.barrier == barrier && !pending.copies) bytes += pending.transfer.bytes;
    return bytes;
}

void AsyncQueue::finish(size_t count) {
    for (size_t i = 0; i < count; ++i) pending_[i].perform();
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(count));
}

AsyncQueue& async_queue(Block& block) {
    if (!block.cluster->async) block.cluster->async = std::make_unique<AsyncQueue>();
    return *block.cluster->async;
}

void finish_copies(Block& block) {
    finish_products(block);
    if (!block.cluster->async) return;
    block.cluster->async->finish();
    for (auto& warp : block.warps) {
        if (!warp->copies) continue;
        warp->copies->finish_bulk();
        warp->copies->clear();
    }
}

}  // namespace softcuda
