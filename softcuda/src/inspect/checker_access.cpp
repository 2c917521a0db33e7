// What an access meets in the shadow, word by word, and what is made of it; checker_quick.cpp spares most of them this.
#include "inspect/checker.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace softcuda::inspect {
namespace {

const char* name_of(Access access) {
    switch (access) {
        case Access::load: return "read";
        case Access::store: return "write";
        default: return "atomic operation";
    }
}

// Where the lanes' addresses lie, and whether all are aligned.
struct Extent {
    uint64_t low = ~0ull, high = 0;
    bool aligned = true, one = true;
};
SOFTCUDA_WIDE Extent extent(const MemoryEvent& event) {
    Extent e;
    uint64_t bits = 0;
    if (event.lanes == all_lanes) {
        for (int i = 0; i < warp_size; ++i) {
            e.low = std::min(e.low, event.addresses[i]);
            e.high = std::max(e.high, event.addresses[i]);
            bits |= event.addresses[i];
        }
    } else {
        for (uint32_t rest = event.lanes; rest; rest &= rest - 1) {
            const uint64_t at = event.addresses[std::countr_zero(rest)];
            e.low = std::min(e.low, at);
            e.high = std::max(e.high, at);
            bits |= at;
        }
    }
    e.aligned = (bits & (event.bytes - 1)) == 0;
    e.one = e.low == e.high;
    return e;
}

}  // namespace

void Checker::access(const WarpPlace& place, const Op& op, const RowAccess& access) {
    if (op.space == Space::local) return;
    const bool beside_copies = op.space == Space::shared && launch().bulk && !block(place).engines.empty();
    const bool beside_products = op.space == Space::shared && product_kinds_ && !block(place).readings.empty();
    if (!beside_copies && !(beside_products && op.access != Access::load) && without_a_word(place, op, access)) return;
    uint64_t addresses[warp_size];
    memory(place, op, event_of(op, access, addresses));
}

void Checker::memory(const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    const Kind kind = kinds_[op.line];
    if ((kind == Kind::bulk || kind == Kind::unseen) && event.access != Access::atomic) {
        // Only where it begins is reported: a thread that reads what it wrote must not be accused.
        Known* known = event.space == Space::global && event.access != Access::load
                           ? find(event.addresses[std::countr_zero(event.lanes)])
                           : nullptr;
        if (known) known->filled.fill(0, known->allocation.bytes);
        return;
    }
    if (kind == Kind::init && event.space == Space::shared && !event.remote) note_inits(block(place), place, op, event);
    if (event.space == Space::shared)
        shared_access(block(place), place, op, event);
    else if (event.space == Space::global)
        global_access(block(place), place, op, event);
}

void Checker::shared_access(Block& own, const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    if (own.marks.full()) own.blind = true;
    if (event.remote && !own.shares) {  // an address of the cluster, in a block that is alone in it
        uint64_t addresses[warp_size];
        for (int i = 0; i < warp_size; ++i) addresses[i] = event.addresses[i] & 0xffffff;
        MemoryEvent here = event;
        here.addresses = addresses;
        here.remote = false;
        return shared_access(own, place, op, here);
    }
    if (!event.remote && !own.engines.empty()) meet_engines(own, place, op, event);
    if (!event.remote && event.access != Access::load && !own.readings.empty()) meet_readings(own, place, op, event);
    if (event.remote || own.blind) return;
    const Extent e = extent(event);
    constexpr uint64_t most = 1u << 24;  // a wrong address ends the launch right after this, and is reported then
    if (e.high >= most || !e.aligned) return;
    if (e.high + event.bytes > own.shared.bytes) {
        const size_t bytes = std::max<size_t>(std::bit_ceil(e.high + event.bytes), 4096);
        Shadow grown(bytes);
        if (own.shared.shift == 0) grown.refine();
        if (own.shared.bytes) {
            std::memcpy(grown.written.at(), own.shared.written.at(), own.shared.cells() * 4);
            std::memcpy(grown.read.at(), own.shared.read.at(), own.shared.cells() * 4);
            std::memcpy(grown.earlier.at(), own.shared.earlier.at(), own.shared.cells() * 4);
            std::memcpy(grown.written_page.at(), own.shared.written_page.at(), own.shared.pages() * 4);
            std::memcpy(grown.read_page.at(), own.shared.read_page.at(), own.shared.pages() * 4);
        }
        own.shared = std::move(grown);
    }
    Touch t{.block = own,
            .warp = own.warps[place.warp],
            .warp_index = place.warp,
            .op = op,
            .event = event,
            .marks = own.marks,
            .shadow = own.shared,
            .base = 0,
            .known = nullptr,
            .lanes = event.lanes,
            .ordered = own.ordered,
            .phase = own.ordered,
            .one_place = e.one};
    touch(t);
}

Checker::Known* Checker::find(uint64_t address) {
    auto next = known_.upper_bound(address);
    if (next == known_.begin()) return nullptr;
    Known& known = *std::prev(next)->second;
    return address < known.allocation.end() ? &known : nullptr;
}

void Checker::global_access(Block& own, const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    const Extent e = extent(event);
    if (!e.aligned) return;
    if (marks_.full()) {
        forget_global();
        own.global_phase = marks_.next();
    }
    for (uint32_t rest = event.lanes; rest;) {
        const uint64_t first = event.addresses[std::countr_zero(rest)];
        Known* known = last_known_;
        if (!known || first < known->allocation.base || first >= known->allocation.end()) known = find(first);
        if (!known) return;
        last_known_ = known;
        const uint64_t low = known->allocation.base, end = known->allocation.end();
        uint32_t inside = rest;
        bool fits = true;
        if (e.low < low || e.high >= end || end - e.high < event.bytes) {
            inside = 0;
            for (uint32_t left = rest; left; left &= left - 1) {
                const int lane = std::countr_zero(left);
                const uint64_t at = event.addresses[lane];
                if (at < low || at >= end) continue;
                inside |= 1u << lane;
                fits = fits && end - at >= event.bytes;
            }
        }
        rest &= ~inside;
        if (!fits) return;
        if (known->tracked && known->shadow.bytes == 0) try {
                known->shadow = Shadow(known->allocation.bytes);
            } catch (const std::bad_alloc&) {
                known->tracked = false;  // no room to remember who touched it
            }
        if (!known->tracked) continue;
        Touch t{.block = own,
                .warp = own.warps[place.warp],
                .warp_index = place.warp,
                .op = op,
                .event = event,
                .marks = marks_,
                .shadow = known->shadow,
                .base = low,
                .known = known,
                .lanes = inside,
                .ordered = marks_.base(),
                .phase = std::max(marks_.base(), own.global_phase),
                .one_place = e.one};
        touch(t);
        if (event.strong && event.access == Access::load && !launch().order.empty())
            for (uint32_t left = inside; left; left &= left - 1)
                launch().order.learn(event.addresses[std::countr_zero(left)], t.warp.knows);
        if (known->filled.whole()) continue;
        uint32_t empty = 0;
        for (uint32_t left = inside; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const uint64_t offset = event.addresses[lane] - low;
            if (event.access != Access::store && !known->filled.filled(offset, event.bytes)) empty |= 1u << lane;
        }
        if (event.access != Access::load)
            for (uint32_t left = inside; left; left &= left - 1)
                known->filled.fill(event.addresses[std::countr_zero(left)] - low, event.bytes);
        if (empty) uninitialised(t, empty);
    }
}

void Checker::uninitialised(Touch& t, uint32_t lanes) {
    if (!first_time("uninitialised", t.op.line, 0)) return;
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const Who who{t.block.serial, t.warp_index * warp_size + lane, t.op.line, name_of(t.event.access)};
    const uint64_t address = t.event.addresses[lane];
    if (t.known) return report("uninitialised", "", "global", &t, address, who, nullptr);
    auto [key, text] = describe_finding("uninitialised", "", "shared", &t, address, who, nullptr);
    t.block.unreported.push_back({t.op.line, std::move(key), std::move(text)});
}

void Checker::touch(Touch& t) {
    if (t.event.bytes < 4 && t.shadow.shift) t.shadow.refine();
    const bool atomic = t.event.access == Access::atomic || t.event.access == Access::reduction;
    const Kind what = kinds_[t.op.line];
    t.special = atomic || t.event.strong;
    // What a release lets others know: all so far, or with a relaxed access what was fenced.
    if (t.event.access != Access::load && t.event.release) {
        t.warp.fenced = t.warp.clock + 1;
        t.block.fenced = true;
    }
    Mark mark{.block = t.block.serial,
              .clock = t.warp.clock,
              .line = t.op.line,
              .lanes = t.lanes,
              .released = t.warp.fenced,
              .warp = static_cast<uint8_t>(t.warp_index),
              .strong = t.event.strong,
              .atomic = atomic,
              .cas = what == Kind::cas,
              .asynchronous = t.event.asynchronous,
              .pending = what == Kind::copy && !t.known};
    t.id = t.marks.add(mark);
    if (mark.pending) t.block.copies.push_back({t.warp_index, t.block.groups[t.warp_index], t.id, 0, t.event.bytes});
    if (t.event.access != Access::load && t.special && t.known) release(t);
    bool done = false;
    if (!t.special) {
        if (t.event.access == Access::load) done = read_cells(t);
    } else if (atomic && t.event.bytes == 1u << t.shadow.shift && !t.block.fenced) {
        done = update_cells(t);
    }
    if (!done) {
        const size_t cells = std::max<size_t>(1, t.event.bytes >> t.shadow.shift);
        uint32_t empty = 0;
        for (uint32_t rest = t.lanes; rest; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            const size_t first = (t.event.addresses[lane] - t.base) >> t.shadow.shift;
            for (size_t k = 0; k < cells; ++k) {
                if (!t.known && t.event.access != Access::store && nothing_in(t, first + k)) empty |= 1u << lane;
                touch_cell(t, lane, first + k);
            }
        }
        if (empty && launch().config->cluster.count() <= 1 && !launch().unseen) uninitialised(t, empty);
    }
    if (t.special && t.event.access != Access::load && t.warp.fenced) ++t.warp.clock;
}

// Reads of words that nobody has written since everything was ordered: nothing to judge, and only to be remembered.
bool Checker::read_cells(Touch& t) {
    const uint32_t* written = t.shadow.written.at();
    uint32_t* read = t.shadow.read.at();
    uint32_t* earlier = t.shadow.earlier.at();
    const uint64_t* at = t.event.addresses;
    const uint32_t shift = t.shadow.shift;
    const uint32_t lanes = t.one_place ? t.lanes & (~t.lanes + 1) : t.lanes;
    const size_t each = t.event.bytes >> shift;
    uint32_t newest = 0, oldest = ~0u, reads = ~0u;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const size_t first = (at[std::countr_zero(rest)] - t.base) >> shift;
        for (size_t cell = first; cell < first + each; ++cell) {
            newest = std::max(newest, written[cell]);
            oldest = std::min(oldest, written[cell]);
            reads = std::min({reads, read[cell], earlier[cell]});
        }
    }
    if (Cell::id(newest) >= t.ordered) return false;
    if (!t.known && Cell::id(oldest) < t.marks.base()) return false;
    // Two warps have read it in this phase already: whoever writes now meets one of them, and learns nothing by a third.
    if (Cell::id(reads) >= t.phase && !t.block.fenced && !t.block.counted) {
        t.marks.drop();
        return true;
    }
    const uint32_t alone = t.one_place && t.lanes != lanes ? Cell::of(0, 0, true) : 0;
    uint32_t looked_at = 0;
    bool others = false, mine = false;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const size_t first = (at[lane] - t.base) >> shift;
        for (size_t cell = first; cell < first + each; ++cell) {
            const uint32_t before = read[cell], id = Cell::id(before);
            uint32_t several = alone;
            if (id == t.id) {
                several = Cell::of(0, 0, true);
            } else if (id >= t.ordered) {
                if (id != looked_at) {
                    const Mark& mark = t.marks[id];
                    if (mark.atomic) return false;
                    looked_at = id;
                    others = mark.warp != t.warp_index || mark.block != t.block.serial;
                    mine = !others && mark.clock >= t.warp.floor;
                }
                if (others)
                    earlier[cell] = before;
                else if (mine && (Cell::lane(before) != lane || Cell::several(before)))
                    several = Cell::of(0, 0, true);
            }
            read[cell] = Cell::of(t.id, lane) | several;
            t.shadow.read_page[t.shadow.page(cell)] = t.id;
        }
    }
    return true;
}

// Atomic operations on words that nobody has read or written since everything was ordered, in a block without fences.
bool Checker::update_cells(Touch& t) {
    const uint32_t* written = t.shadow.written.at();
    uint32_t* read = t.shadow.read.at();
    uint32_t* earlier = t.shadow.earlier.at();
    const uint64_t* at = t.event.addresses;
    const uint32_t shift = t.shadow.shift;
    uint32_t newest = 0, oldest = ~0u;
    for (uint32_t rest = t.lanes; rest; rest &= rest - 1) {
        const size_t cell = (at[std::countr_zero(rest)] - t.base) >> shift;
        newest = std::max(newest, written[cell]);
        oldest = std::min(oldest, written[cell]);
    }
    if (Cell::id(newest) >= t.ordered) return false;
    if (!t.known && Cell::id(oldest) < t.marks.base()) return false;
    for (uint32_t rest = t.lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const size_t cell = (at[lane] - t.base) >> shift;
        const uint32_t before = read[cell], id = Cell::id(before);
        bool several = false;
        if (id == t.id) {
            several = true;
        } else if (id >= t.ordered) {
            const Mark& mark = t.marks[id];
            // A read, or one before: the lanes so far are done once more, which changes nothing.
            if (!mark.atomic || Cell::id(earlier[cell]) >= t.ordered) {
                if (!mark.atomic || !t.marks[Cell::id(earlier[cell])].atomic) return false;
            }
            if (mark.warp != t.warp_index || mark.block != t.block.serial)
                earlier[cell] = before;
            else
                several = (Cell::lane(before) != lane || Cell::several(before)) && mark.clock >= t.warp.floor;
        }
        read[cell] = Cell::of(t.id, lane, several);
        t.shadow.read_page[t.shadow.page(cell)] = t.id;
    }
    return true;
}

bool Checker::comes_before(Touch& t, const Mark& mark, uint32_t other, uint32_t lane) {
    if (mark.pending) return false;
    if (mark.block == t.block.serial) {
        if (mark.warp == t.warp_index) return t.warp.before(mark.clock, other, lane);
        return mark.clock < t.warp.seen[mark.warp];
    }
    return launch().order.before(mark, t.warp.knows);
}

// Shared memory: nobody in the block has written it or updated it.
bool Checker::nothing_in(Touch& t, size_t cell) {
    if (Cell::id(t.shadow.written[cell]) >= t.marks.base()) return false;
    for (const uint32_t known : {t.shadow.read[cell], t.shadow.earlier[cell]})
        if (Cell::id(known) >= t.marks.base() && t.marks[Cell::id(known)].atomic) return false;
    return t.known || !t.block.copied.filled(cell << t.shadow.shift, 1);
}

// `written` is the last plain write; `read` and `earlier` are reads or atomic operations, of which there may be several
// at once without harm.
void Checker::touch_cell(Touch& t, uint32_t lane, size_t cell) {
    const Access access = t.event.access;
    uint32_t& written = t.shadow.written[cell];
    uint32_t& read = t.shadow.read[cell];
    uint32_t& earlier = t.shadow.earlier[cell];
    if (Cell::id(written) >= t.ordered) {
        if (t.special) learn(t, written, lane);
        judge(t, written, lane, true);
    }
    const bool atomic = access == Access::atomic || access == Access::reduction;
    if (kinds_[t.op.line] == Kind::cas) excuse(t, lane, cell);
    for (const uint32_t known : {read, earlier}) {
        if (Cell::id(known) < t.ordered) break;
        if (Cell::id(known) == t.id) continue;
        if (t.marks[Cell::id(known)].asynchronous && !t.block.shares) continue;  // meet_readings() has looked
        const bool other_atomic = t.marks[Cell::id(known)].atomic;
        if (other_atomic && t.special) learn(t, known, lane);
        if (access == Access::store || atomic != other_atomic) judge(t, known, lane, other_atomic);
    }
    if (access == Access::store) {
        written = Cell::of(t.id, lane);
        t.shadow.written_page[t.shadow.page(cell)] = t.id;
        if (read) read = earlier = 0;
        return;
    }
    if (access == Access::load && t.special)  // a loop that waits must not push out what it waits for
        for (const uint32_t known : {read, earlier})
            if (Cell::id(known) >= t.ordered && t.marks[Cell::id(known)].atomic) return;
    bool others = false;
    if (Cell::id(read) >= t.ordered) {
        const Mark& before = t.marks[Cell::id(read)];
        if (Cell::id(read) == t.id)
            others = Cell::lane(read) != lane || Cell::several(read);
        else if (before.warp != t.warp_index || before.block != t.block.serial || before.atomic != atomic)
            earlier = read;
        else
            others = (Cell::lane(read) != lane || Cell::several(read)) && before.clock >= t.warp.floor;
    }
    read = Cell::of(t.id, lane, others);
    t.shadow.read_page[t.shadow.page(cell)] = t.id;
}

// What a thread reads plainly before it compares and swaps is only a guess: no race, whoever comes between.
void Checker::excuse(Touch& t, uint32_t lane, size_t cell) {
    uint32_t& read = t.shadow.read[cell];
    uint32_t& earlier = t.shadow.earlier[cell];
    for (uint32_t* known : {&earlier, &read}) {
        if (Cell::id(*known) < t.ordered || Cell::id(*known) == t.id) continue;
        const Mark& mark = t.marks[Cell::id(*known)];
        if (!mark.atomic && mark.warp == t.warp_index && mark.block == t.block.serial) *known = 0;
    }
    if (!read) std::swap(read, earlier);
    if (launch().guesses.empty()) return;
    std::erase_if(launch().guesses, [&](const Guess& guess) {
        return guess.block == t.block.serial && guess.warp == t.warp_index && guess.address == t.event.addresses[lane];
    });
}

// A strong access of what a strong access wrote comes after what that one released.
void Checker::learn(Touch& t, uint32_t cell, uint32_t lane) {
    if (Cell::id(cell) == t.id) return;
    const Mark& mark = t.marks[Cell::id(cell)];
    if (!(mark.atomic || mark.strong) || mark.block != t.block.serial || !mark.released) return;
    if (mark.warp != t.warp_index) {
        if (mark.released <= t.warp.seen[mark.warp]) return;
        WarpOrder& other = t.block.warps[mark.warp];
        join(t.warp.seen, other.seen);
        t.warp.seen[mark.warp] = std::max(t.warp.seen[mark.warp], mark.released);
        if (!other.knows.empty()) join(t.warp.knows, other.knows);
    } else if (!t.warp.before(mark.released - 1, Cell::lane(cell), lane)) {
        t.warp.follow(lane, Cell::lane(cell), mark.released - 1);
    }
}

void Checker::release(Touch& t) {
    if (t.event.release) snapshot(t.block, t.warp_index);
    const bool learns = t.event.access != Access::store && !launch().order.empty();
    if (t.warp.fence == WarpOrder::no_snapshot && !learns) return;
    for (uint32_t rest = t.lanes; rest; rest &= rest - 1) {
        const uint64_t address = t.event.addresses[std::countr_zero(rest)];
        if (learns) launch().order.learn(address, t.warp.knows);
        if (t.warp.fence != WarpOrder::no_snapshot) launch().order.leave(address, t.warp.fence);
    }
}

// The access meets one that is in the shadow: does it come after it?
void Checker::judge(Touch& t, uint32_t cell, uint32_t lane, bool other_writes) {
    const uint32_t id = Cell::id(cell);
    uint32_t other = Cell::lane(cell);
    const bool writes = t.event.access != Access::load;
    if (id == t.id) {  // lanes of one instruction
        if (!writes || !other_writes || other == lane || t.special || same_value(t, lane, other)) return;
        if (!first_time("race", t.op.line, t.op.line)) return;
        const Who first{t.block.serial, t.warp_index * warp_size + other, t.op.line, "write"};
        const Who second{t.block.serial, t.warp_index * warp_size + lane, t.op.line, "write"};
        report("race", "one instruction", t.known ? "global" : "shared", &t, t.event.addresses[lane], first, &second);
        return;
    }
    if (id != t.judged) {
        t.judged = id;
        t.mark = &t.marks[id];
        t.own_warp = t.mark->block == t.block.serial && t.mark->warp == t.warp_index;
        t.fine =
            !t.mark->pending && (t.own_warp ? t.mark->clock < t.warp.floor : comes_before(t, *t.mark, other, lane));
    }
    if (t.fine) return;
    const Mark& mark = *t.mark;
    const bool both_special = t.special && (mark.atomic || mark.strong);
    if (t.own_warp && !mark.pending) {
        if (other == lane && Cell::several(cell)) {
            // Another lane of that instruction read it as well.
            const uint32_t rest = mark.lanes & ~(1u << lane);
            if (rest == 0) return;
            other = static_cast<uint32_t>(std::countr_zero(rest));
        }
        if (t.warp.before(mark.clock, other, lane)) return;
        if (both_special) {
            // Volatile accesses of lanes in step are what warp-synchronous code is made of; apart, they are flags.
            const bool in_step = (mark.lanes & t.lanes & (1u << lane)) && (t.lanes & (1u << other));
            if (mark.atomic || t.event.access == Access::atomic || t.event.access == Access::reduction || !in_step)
                return;
        }
    } else if (both_special && !mark.pending) {
        return;
    }
    const char* kind = mark.pending ? "async-copy" : t.own_warp ? "warp-synchronous" : "race";
    if (!other_writes && !writes) return;
    if (mark.pending && !other_writes) return;
    if (other_writes && t.event.access == Access::store && !mark.pending && !mark.atomic && keeps_value(t, lane))
        return;
    const bool guess = mark.cas ? !writes : kinds_[t.op.line] == Kind::cas && !other_writes;
    if (guess ? launch().guesses.size() > 1000 : !first_time(kind, mark.line, t.op.line)) return;
    const char* earlier = mark.atomic ? "atomic operation" : other_writes ? "write" : "read";
    if (!t.known && !guess) launch().raced.insert({mark.line, t.op.line});
    const Who first{mark.block, mark.warp * warp_size + other, mark.line, earlier};
    const Who second{t.block.serial, t.warp_index * warp_size + lane, t.op.line, name_of(t.event.access)};
    const char* what = mark.pending                   ? ""
                       : mark.block != t.block.serial ? "blocks"
                       : other_writes && writes       ? "write after write"
                       : other_writes                 ? "read after write"
                                                      : "write after read";
    const char* space = t.known ? "global" : "shared";
    const uint64_t address = t.event.addresses[lane];
    if (!guess) return report(kind, what, space, &t, address, first, &second);
    auto [key, text] = describe_finding(kind, what, space, &t, address, first, &second);
    const Who& reader = writes ? first : second;
    launch().guesses.push_back({reader.block, reader.thread / warp_size, address, std::move(key), std::move(text)});
}

// What a lane is about to store; false: not known.
bool Checker::value_of(const Touch& t, uint32_t lane, std::byte* bytes) const {
    const uint32_t row_bytes = t.event.value_bytes;
    if (t.event.access != Access::store || !row_bytes || !t.event.frame) return false;
    const uint32_t elements = std::max<uint32_t>(1, t.op.small[0]);
    const uint32_t size = t.event.bytes / elements;
    if (size == 0 || size > row_bytes) return false;
    const auto* rows = static_cast<const std::vector<uint32_t>*>(t.op.extra);
    if (elements > 1 && (!rows || rows->size() < elements)) return false;
    for (uint32_t e = 0; e < elements; ++e)
        std::memcpy(bytes + e * size, t.event.frame + (elements > 1 ? (*rows)[e] : t.op.dst) + lane * row_bytes, size);
    return true;
}

bool Checker::same_value(const Touch& t, uint32_t lane, uint32_t other) const {
    std::byte a[64], b[64];
    if (t.event.bytes > sizeof a || !value_of(t, lane, a)) return true;
    value_of(t, other, b);
    return t.event.addresses[lane] == t.event.addresses[other] && std::memcmp(a, b, t.event.bytes) == 0;
}

// Whether the write leaves memory as it is, so that it does not matter who comes first.
bool Checker::keeps_value(const Touch& t, uint32_t lane) const {
    std::byte a[64];
    if (t.event.bytes > sizeof a || !value_of(t, lane, a)) return false;
    const uint64_t address = t.event.addresses[lane];
    const std::byte* now = t.known ? reinterpret_cast<const std::byte*>(address) : t.event.shared + address;
    return std::memcmp(a, now, t.event.bytes) == 0;
}

}  // namespace softcuda::inspect
