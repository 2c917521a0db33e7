#include "machine/async.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/block.h"

namespace softcuda {

void Transfer::read() {
    if (!from) return;
    data.assign(from, from + bytes);
    from = nullptr;
}

void Transfer::land() {
    const std::byte* source = from ? from : data.data();
    if (reduce) {
        reduce(to, source, bytes);
    } else if (chosen == 0xffff) {
        if (bytes) std::memmove(to, source, bytes);
    } else {
        for (uint32_t i = 0; i < bytes; ++i)
            if ((chosen >> (i % 16)) & 1) to[i] = source[i];
    }
}

// --- of threads

void ThreadCopies::issue(Copy copy) {
    copy.number = issued_++;
    copy.group = committed_;
    copies_.push_back(copy);
}

void ThreadCopies::commit(uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) ++committed_[static_cast<size_t>(std::countr_zero(lanes))];
}

template <class Choose>
void ThreadCopies::land(uint32_t lanes, Choose choose) {
    bool emptied = false;
    for (Copy& copy : copies_) {
        for (uint32_t rest = copy.lanes & lanes; rest; rest &= rest - 1) {
            const auto i = static_cast<size_t>(std::countr_zero(rest));
            if (!choose(copy, i)) continue;
            auto* to = reinterpret_cast<std::byte*>(copy.to[i]);
            if (copy.wanted[i]) std::memcpy(to, reinterpret_cast<const void*>(copy.from[i]), copy.wanted[i]);
            if (copy.wanted[i] < copy.bytes) std::memset(to + copy.wanted[i], 0, copy.bytes - copy.wanted[i]);
            copy.lanes &= ~(1u << i);
        }
        emptied = emptied || copy.lanes == 0;
    }
    if (emptied) std::erase_if(copies_, [](const Copy& copy) { return copy.lanes == 0; });
}

void ThreadCopies::wait(uint32_t lanes, uint32_t left) {
    land(lanes, [&](const Copy& copy, size_t i) { return copy.group[i] + uint64_t(left) < committed_[i]; });
}
void ThreadCopies::wait_all(uint32_t lanes) {
    land(lanes, [](const Copy&, size_t) { return true; });
}
void ThreadCopies::land_before(int lane, uint64_t number) {
    land(1u << lane, [&](const Copy& copy, size_t) { return copy.number < number; });
}

void ThreadCopies::issue_bulk(int lane, Transfer transfer) {
    bulk_.push_back({lane, bulk_committed_[static_cast<size_t>(lane)], std::move(transfer)});
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
            copy.transfer.read();
        else
            copy.transfer.land();
    }
    if (!only_read) std::erase_if(bulk_, due);
}
void ThreadCopies::finish_bulk() {
    for (BulkCopy& copy : bulk_) copy.transfer.land();
    bulk_.clear();
}
void ThreadCopies::clear() {
    copies_.clear();
    bulk_.clear();
    committed_ = {};
    bulk_committed_ = {};
}

// --- of mbarriers

void AsyncQueue::transfer(uint64_t* barrier, Transfer transfer) {
    Pending pending;
    pending.barrier = barrier;
    pending.transfer = std::move(transfer);
    pending_.push_back(std::move(pending));
}

void AsyncQueue::arrive(uint64_t* barrier, ThreadCopies& copies, int lane) {
    Pending pending;
    pending.barrier = barrier;
    pending.copies = &copies;
    pending.lane = lane;
    pending.before = copies.issued();
    pending_.push_back(std::move(pending));
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

void AsyncQueue::finish() {
    for (Pending& pending : pending_) pending.perform();
    pending_.clear();
}

AsyncQueue& async_queue(Block& block) {
    if (!block.cluster->async) block.cluster->async = std::make_unique<AsyncQueue>();
    return *block.cluster->async;
}

void finish_copies(Block& block) {
    if (!block.cluster->async) return;
    block.cluster->async->finish();
    for (auto& warp : block.warps) {
        if (!warp->copies) continue;
        warp->copies->finish_bulk();
        warp->copies->clear();
    }
}

}  // namespace softcuda
