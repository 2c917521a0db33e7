// Plain loads and stores that nothing is to be said of: most of them.  All cells of an instruction are looked at together,
// and nothing is changed until it is sure that the long way (checker_access.cpp) would find nothing, and remember the same.
#include "inspect/checker.h"

namespace softcuda::inspect {
namespace {

// What there is in the cells of a run, a bit each.
constexpr uint32_t unwritten = 1, written_since = 2, read_since = 4, read_enough = 8;
struct Limits {
    uint32_t begin, ordered, phase;  // as cells
};
// The difference of two cells is negative where the first is the older one: all in the uppermost bit.
inline uint32_t seen_in(const uint32_t* written, const uint32_t* read, const uint32_t* earlier, uint32_t count,
                        const Limits& limits) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i)
        found |= (written[i] - limits.begin) >> 31 | (~(written[i] - limits.ordered) >> 30 & written_since) |
                 (~(read[i] - limits.ordered) >> 29 & read_since) |
                 (((read[i] - limits.phase) | (earlier[i] - limits.phase)) >> 28 & read_enough);
    return found ^ read_enough;
}
inline uint32_t seen_in_cells(const uint32_t* written, const uint32_t* read, const uint32_t* earlier,
                              const std::vector<int32_t>& cells, const Limits& limits) {
    uint32_t found = 0;
    for (const int32_t at : cells) {
        found |= (written[at] - limits.begin) >> 31 | (~(written[at] - limits.ordered) >> 30 & written_since) |
                 (~(read[at] - limits.ordered) >> 29 & read_since) |
                 (((read[at] - limits.phase) | (earlier[at] - limits.phase)) >> 28 & read_enough);
    }
    return found ^ read_enough;
}
// The same of reads alone, but of the earlier ones.
inline uint32_t seen_in_reads(const uint32_t* read, uint32_t count, const Limits& limits) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i)
        found |= (~(read[i] - limits.ordered) >> 29 & read_since) | ((read[i] - limits.phase) >> 28 & read_enough);
    return found ^ read_enough;
}
inline void put(uint32_t* cells, const uint32_t* lane, uint32_t mark, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) cells[i] = mark | lane[i];
}
// What another warp has read.
inline void put_beside(uint32_t* read, uint32_t* earlier, const uint32_t* lane, uint32_t mark, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        earlier[i] = read[i];
        read[i] = mark | lane[i];
    }
}
// What the warp itself has read, each cell by the same lane or not.
inline void put_again(uint32_t* read, const uint32_t* lane, uint32_t mark, uint32_t count) {
    constexpr uint32_t several = Cell::of(0, 0, true);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t other = Cell::lane(read[i]) != Cell::lane(lane[i]) ? several : 0;
        read[i] = mark | lane[i] | other | (read[i] & several);
    }
}
inline uint32_t other_lanes(const uint32_t* cells, const uint32_t* lane, uint32_t count) {
    uint32_t differs = 0;
    for (uint32_t i = 0; i < count; ++i) differs |= cells[i] ^ lane[i];
    return differs & (Cell::of(1, 0) - 1);
}
inline void clear(uint32_t* read, uint32_t* earlier, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) read[i] = earlier[i] = 0;
}

SOFTCUDA_WIDE uint32_t wide_seen_in(const uint32_t* written, const uint32_t* read, const uint32_t* earlier,
                                    uint32_t count, const Limits& limits) {
    return seen_in(written, read, earlier, count, limits);
}
SOFTCUDA_WIDE uint32_t wide_seen_in_reads(const uint32_t* read, uint32_t count, const Limits& limits) {
    return seen_in_reads(read, count, limits);
}
SOFTCUDA_WIDE void wide_put(uint32_t* cells, const uint32_t* lane, uint32_t mark, uint32_t count) {
    put(cells, lane, mark, count);
}
SOFTCUDA_WIDE void wide_put_beside(uint32_t* read, uint32_t* earlier, const uint32_t* lane, uint32_t mark,
                                   uint32_t count) {
    put_beside(read, earlier, lane, mark, count);
}
SOFTCUDA_WIDE void wide_put_again(uint32_t* read, const uint32_t* lane, uint32_t mark, uint32_t count) {
    put_again(read, lane, mark, count);
}
SOFTCUDA_WIDE uint32_t wide_other_lanes(const uint32_t* cells, const uint32_t* lane, uint32_t count) {
    return other_lanes(cells, lane, count);
}

// A call costs more than a few cells do.
constexpr uint32_t few = 8;

uint32_t same_mark(const uint32_t* cells, uint32_t count) {
    uint32_t n = 1;
    while (n < count && Cell::id(cells[n]) == Cell::id(cells[0])) ++n;
    return n;
}

}  // namespace

// Whether all that these cells name comes before the access, of which lane[i] touches cells[i].
bool Checker::settled(const Quick& q, const uint32_t* cells, const uint32_t* lane, uint32_t count) {
    for (uint32_t i = 0, n; i < count; i += n) {
        n = same_mark(cells + i, count - i);
        if (Cell::id(cells[i]) < q.ordered) continue;
        const Mark& mark = q.marks[Cell::id(cells[i])];
        if (mark.pending || mark.block != q.block.serial) return false;
        if (mark.warp != q.warp_index) {
            if (mark.clock >= q.warp.seen[mark.warp]) return false;
        } else if (mark.clock >= q.warp.floor) {
            if (n < few ? other_lanes(cells + i, lane + i, n) : wide_other_lanes(cells + i, lane + i, n)) return false;
        }
    }
    return true;
}

// A load in a loop is marked once, as long as its warp meets nothing that orders: what could be said of it is the same.
uint32_t Checker::mark_of(const Quick& q, Site& site, const Op& op, uint32_t lanes) {
    const bool load = op.access == Access::load;
    Mark& mark = site.mark;
    if (load && mark.clock == q.warp.clock && mark.warp == q.warp_index && mark.block == q.block.serial &&
        mark.lanes == lanes && mark.released == q.warp.fenced && site.id >= std::max(q.ordered, q.phase) &&
        site.id < q.marks.next())
        return site.id;
    mark = {.block = q.block.serial,
            .clock = q.warp.clock,
            .line = op.line,
            .lanes = lanes,
            .released = q.warp.fenced,
            .warp = static_cast<uint8_t>(q.warp_index)};
    return site.id = q.marks.add(mark);
}

// True: done.  False: nothing has happened.
bool Checker::without_a_word(const WarpPlace& place, const Op& op, const RowAccess& access) {
    if (op.small[3] & (mark_strong | mark_release)) return false;
    const bool shared = op.space == Space::shared;
    const Loads one{&op, 1, 0};
    if (op.access == Access::load)
        return shared ? quick<true, true>(place, one, access) : quick<false, true>(place, one, access);
    if (op.access == Access::store)
        return shared ? quick<true, false>(place, one, access) : quick<false, false>(place, one, access);
    return false;
}

// Loads that stand at one place of the source are as one load: nothing orders them, and what is said of one is said of all.
void Checker::loads(const WarpPlace& place, const Loads& all, const RowAccess& row) {
    if (launch().bulk && !block(place).engines.empty()) return Observer::loads(place, all, row);
    Site& site = sites_[all[0].line];
    if (!site.together) {
        site.together = std::make_unique<Site::Together>();
        const auto& locations = launch().program->locations;
        const SourceLine& at = locations[all[0].line];
        for (uint32_t i = 1; i < all.count; ++i) {
            const SourceLine& other = locations[all[i].line];
            site.together->alike &= other.file == at.file && other.line == at.line && other.text == at.text;
        }
    }
    if (!site.together->alike || !quick<true, true>(place, all, row)) Observer::loads(place, all, row);
}

// `all`: one access, or several loads.
template <bool shared, bool load>
bool Checker::quick(const WarpPlace& place, const Loads& all, const RowAccess& access) {
    const Op& op = all[0];
    Block& own = block(place);
    const BaseRow base(op, access);
    Site& site = sites_[op.line];
    Known* known = nullptr;
    if constexpr (!shared) {
        if (site.seen != views_seen_ || base.first - site.known->allocation.base >= site.known->allocation.bytes) {
            site.known = find(base.first);
            site.seen = site.known ? views_seen_ : 0;
        }
        known = site.known;
        if (!known || !known->tracked || !known->shadow.bytes) return false;
    }
    Shadow& shadow = shared ? own.shared : known->shadow;
    Marks& marks = shared ? own.marks : marks_;
    const uint64_t offset = base.first - (shared ? 0 : known->allocation.base);
    if (!site.prints) {
        const auto key = std::tuple(place.function, op.a, op.small[1], op.access, op.access_bytes);
        std::shared_ptr<Footprints>& prints = launch().notes->prints[key];
        if (!prints) prints = std::make_shared<Footprints>();
        site.prints = prints;
    }
    Footprints& prints = all.count == 1 ? *site.prints : site.together->prints;
    const Footprint* print = prints.of(all, access, base, shadow.shift);
    if (!print || !print->usable) return false;
    const auto signed_offset = static_cast<int64_t>(offset);
    if ((base.first & (op.access_bytes - 1u)) || (offset & ((1u << shadow.shift) - 1)) ||
        signed_offset + print->low < 0 || signed_offset + print->high > static_cast<int64_t>(shadow.bytes))
        return false;

    if (marks.full()) return false;
    const uint32_t ordered = shared ? own.ordered : marks.base();
    const Quick q{
        own, own.warps[place.warp], place.warp, marks, ordered, shared ? ordered : std::max(ordered, own.global_phase)};
    const uint64_t first = offset >> shadow.shift;
    uint32_t* const written = shadow.written.at() + first;
    uint32_t* const read = shadow.read.at() + first;
    uint32_t* const earlier = shadow.earlier.at() + first;
    if constexpr (!shared) {  // what a loop touches next is as far from here as this is from what it touched before
        const auto step = static_cast<int64_t>(base.first - site.last) >> shadow.shift;
        site.last = base.first;
        constexpr uint64_t cache_line = 64;
        for (uint64_t at = 0; at < 2; ++at)
            __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uint64_t>(load ? read : written) +
                                                             static_cast<uint64_t>(step) * 4 + at * cache_line),
                               1);
    }

    bool fresh_reads = false;    // somebody has read some of it since everything was ordered
    bool enough_readers = true;  // and two warps all of it in this phase
    const Limits limits{Cell::of(q.marks.base(), 0), Cell::of(q.ordered, 0), Cell::of(q.phase, 0)};
    bool look = true;  // run by run
    if (print->scattered) {
        const uint32_t found = seen_in_cells(written, read, earlier, print->cells, limits);
        look = found & (written_since | read_since | (shared && load ? unwritten : 0));
        enough_readers = found & read_enough;
    }
    for (const Footprint::Run& run : print->runs) {
        if (!look) break;
        const int32_t at = run.at;
        const uint32_t* lane = print->lanes.data() + run.begin;
        const bool long_run = run.count >= few;
        uint32_t found = 0;
        bool settled_writes = false;
        if constexpr (!shared) {  // memory that is large: what nobody has touched since is not looked at
            const size_t low = shadow.page(first + static_cast<uint64_t>(int64_t(at)));
            const size_t high = shadow.page(first + static_cast<uint64_t>(int64_t(at)) + run.count - 1);
            settled_writes = std::max(shadow.written_page[low], shadow.written_page[high]) < q.ordered;
            if (settled_writes && std::max(shadow.read_page[low], shadow.read_page[high]) < q.ordered) {
                enough_readers = false;
                continue;
            }
            if (settled_writes)
                found = long_run ? wide_seen_in_reads(read + at, run.count, limits)
                                 : seen_in_reads(read + at, run.count, limits);
        }
        if (!settled_writes || (load && (found & read_enough)))
            found = long_run ? wide_seen_in(written + at, read + at, earlier + at, run.count, limits)
                             : seen_in(written + at, read + at, earlier + at, run.count, limits);
        if ((found & written_since) && !settled(q, written + at, lane, run.count)) return false;
        if (load && shared && (found & unwritten)) return false;  // nobody has written it, perhaps
        fresh_reads = fresh_reads || (found & read_since);
        enough_readers = enough_readers && (found & read_enough);
        if (!load && (found & read_since) &&
            !(settled(q, read + at, lane, run.count) && settled(q, earlier + at, lane, run.count)))
            return false;
    }
    if (!shared && !known->filled.whole()) {
        for (const Footprint::Run& run : print->runs) {
            const uint64_t from = (first + static_cast<uint64_t>(int64_t(run.at))) << shadow.shift;
            const uint64_t bytes = uint64_t(run.count) << shadow.shift;
            if (!load)
                known->filled.fill(from, bytes);
            else if (!known->filled.filled(from, bytes))
                return false;
        }
    }
    // Whoever writes now meets one of the two warps, and learns nothing by a third.
    if (load && enough_readers && !own.fenced && !own.counted) return true;
    if (load && fresh_reads && !note_reads(q, *print, read)) return false;
    const uint32_t id = mark_of(q, site, op, access.lanes);
    const uint32_t mark = Cell::of(id, 0);
    Cells& pages = load ? shadow.read_page : shadow.written_page;
    if constexpr (!shared)
        for (const Footprint::Run& run : print->runs)
            for (const uint32_t cell : {0u, run.count - 1})
                pages[shadow.page(first + static_cast<uint64_t>(int64_t(run.at)) + cell)] = id;
    if (load && fresh_reads) {
        for (const Piece& piece : pieces_) {
            uint32_t* cells = read + piece.at;
            const uint32_t n = piece.count;
            switch (piece.before) {
                case Piece::Before::nothing:
                    n < few ? put(cells, piece.lane, mark, n) : wide_put(cells, piece.lane, mark, n);
                    break;
                case Piece::Before::others:
                    n < few ? put_beside(cells, earlier + piece.at, piece.lane, mark, n)
                            : wide_put_beside(cells, earlier + piece.at, piece.lane, mark, n);
                    break;
                case Piece::Before::own:
                    n < few ? put_again(cells, piece.lane, mark, n) : wide_put_again(cells, piece.lane, mark, n);
                    break;
            }
        }
        return true;
    }
    if (print->scattered && !fresh_reads) {
        uint32_t* cells = load ? read : written;
        for (size_t i = 0; i < print->cells.size(); ++i) cells[print->cells[i]] = mark | print->lanes[i];
        return true;
    }
    for (const Footprint::Run& run : print->runs) {
        const uint32_t* lane = print->lanes.data() + run.begin;
        uint32_t* cells = (load ? read : written) + run.at;
        run.count < few ? put(cells, lane, mark, run.count) : wide_put(cells, lane, mark, run.count);
        if (!load && fresh_reads) clear(read + run.at, earlier + run.at, run.count);
    }
    return true;
}

// What a load that others have read before it meets, in pieces that one instruction has read.  False: take the long way.
bool Checker::note_reads(const Quick& q, const Footprint& print, const uint32_t* read) {
    pieces_.clear();
    for (const Footprint::Run& run : print.runs) {
        for (uint32_t i = 0, n; i < run.count; i += n) {
            const int32_t at = run.at + static_cast<int32_t>(i);
            n = same_mark(read + at, run.count - i);
            auto before = Piece::Before::nothing;
            if (const uint32_t id = Cell::id(read[at]); id >= q.ordered) {
                const Mark& mark = q.marks[id];
                if (mark.atomic) return false;
                if (mark.warp != q.warp_index || mark.block != q.block.serial)
                    before = Piece::Before::others;
                else if (mark.clock >= q.warp.floor)
                    before = Piece::Before::own;
            }
            pieces_.push_back({at, n, print.lanes.data() + run.begin + i, before});
        }
    }
    return true;
}

}  // namespace softcuda::inspect
