#include "machine/printer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace softcuda {

void Printer::print(std::string text, bool failed_assertion) {
    std::lock_guard lock(mutex_);
    bytes_ += text.size();
    pending_.push_back({std::move(text), failed_assertion});
    while (bytes_ > capacity && pending_.size() > 1) {
        bytes_ -= pending_.front().text.size();
        pending_.pop_front();
    }
}

bool Printer::pending() {
    std::lock_guard lock(mutex_);
    return !pending_.empty();
}

void Printer::flush() {
    std::lock_guard lock(mutex_);
    while (!pending_.empty()) {
        const bool failed_assertion = pending_.front().failed_assertion;
        std::string all;  // that goes to one place
        for (; !pending_.empty() && pending_.front().failed_assertion == failed_assertion; pending_.pop_front())
            all += pending_.front().text;
        if (sink_) {
            sink_(all);
            continue;
        }
        if (!failed_assertion) std::fflush(stdout);  // what the host printed before comes first
        for (size_t done = 0; done < all.size();) {
            ssize_t written = write(failed_assertion ? 2 : 1, all.data() + done, all.size() - done);
            if (written <= 0) break;
            done += static_cast<size_t>(written);
        }
    }
    bytes_ = 0;
}

void Printer::set_sink(std::function<void(std::string_view)> sink) {
    std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
}

DeviceHeap::~DeviceHeap() {
    if (base_) memory_.release(base_);
}

void DeviceHeap::reserve(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (base_) return;
    base_ = memory_.allocate(bytes, MemoryKind::module, "device heap");
    bytes_ = bytes;
    pieces_.push_back({0, bytes, false});
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > bytes_) return 0;
    bytes = std::max<uint64_t>(16, (bytes + 15) / 16 * 16);
    for (size_t i = 0; i < pieces_.size(); ++i) {
        if (pieces_[i].used || pieces_[i].bytes < bytes) continue;
        Piece rest{pieces_[i].offset + bytes, pieces_[i].bytes - bytes, false};
        pieces_[i].bytes = bytes;
        pieces_[i].used = true;
        uint64_t address = base_ + pieces_[i].offset;
        if (rest.bytes) pieces_.insert(pieces_.begin() + static_cast<ptrdiff_t>(i) + 1, rest);
        return address;
    }
    return 0;
}

bool DeviceHeap::release(uint64_t address) {
    std::lock_guard lock(mutex_);
    auto found = std::lower_bound(pieces_.begin(), pieces_.end(), address - base_,
                                  [](const Piece& piece, uint64_t offset) { return piece.offset < offset; });
    if (address < base_ || found == pieces_.end() || found->offset != address - base_ || !found->used) return false;
    found->used = false;
    if (auto next = found + 1; next != pieces_.end() && !next->used) {
        found->bytes += next->bytes;
        pieces_.erase(next);
    }
    if (found != pieces_.begin() && !(found - 1)->used) {
        (found - 1)->bytes += found->bytes;
        pieces_.erase(found);
    }
    return true;
}

}  // namespace softcuda
