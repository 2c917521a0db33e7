// Products of warpgroups (wgmma): registers that they own until the wait, and what they read of shared memory, which is through
// the asynchronous proxy and as late as at the wait.
//
// The four warps read for themselves: each all of B and its own 16 rows of A.  A warp's wait says that its own reads are
// done; those of the others may go on until they have waited, too.  A thread that writes there must come after the waits of
// all who read.  Copies are not held to this: pipelines let one thread of a warpgroup hand a stage back to the copy engine,
// and a copy that comes after the wait of one warp is taken to come after all four.
#include "inspect/checker.h"

#include <algorithm>
#include <bit>

namespace softcuda::inspect {

Checker::ProductKind Checker::product_kind_of(const std::string& text) {
    auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    if (text.starts_with("fence.proxy.async")) return ProductKind::proxy_fence;
    if (text.starts_with("mov.")) return ProductKind::copy;
    if (!text.starts_with("wgmma.")) return ProductKind::none;
    return has("mma_async")      ? ProductKind::product
           : has("commit_group") ? ProductKind::commit
           : has("wait_group")   ? ProductKind::wait
                                 : ProductKind::fence;
}

void Checker::note_products(const Program& program, Notes& notes) {
    notes.products.clear();
    for (const SourceLine& line : program.locations) notes.products.push_back(product_kind_of(line.text));
    const auto is_product = [](ProductKind kind) { return kind == ProductKind::product; };
    if (std::none_of(notes.products.begin(), notes.products.end(), is_product)) notes.products.clear();
}

// What its writes so far, and those it knows of, are visible to the asynchronous proxy from here on.  It does not matter who
// fences: whoever reads has to be ordered behind the fence anyway.
void Checker::show_to_products(Block& own, uint32_t warp) {
    if (own.proxied.size() != own.warps.size()) own.proxied.assign(own.warps.size(), 0);
    join(own.proxied, own.warps[warp].seen);
    own.proxied[warp] = ++own.warps[warp].clock;
}

void Checker::meet_product(Block& own, const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame) {
    WarpOrder& warp = own.warps[place.warp];
    if (own.products.size() != own.warps.size()) own.products.resize(own.warps.size());
    Products& products = own.products[place.warp];
    switch (product_kinds_[op.line]) {
        case ProductKind::product: {
            Product made{.line = op.line,
                         .lane = static_cast<uint32_t>(std::countr_zero(lanes)),
                         .number = products.issued++,
                         .group = products.committed,
                         .first_mark = own.marks.next(),
                         .frame = frame,
                         .proxied = own.proxied};
            made.proxied.resize(own.warps.size());
            products.under_way.push_back(std::move(made));
            break;
        }
        case ProductKind::commit: ++products.committed; break;
        case ProductKind::fence:
            ++products.fences;
            products.waits_fenced = products.waits;
            break;
        case ProductKind::wait: {
            ++products.waits;
            // What others' waits have computed is over now for this warp, too; product() ends the rest.
            std::erase_if(products.under_way, [&](const Product& product) {
                if (!product.computed || product.group + op.imm >= products.committed) return false;
                own.readings[product.reading - 1].waited[place.warp % warps_in_group] = warp.clock + 1;
                return true;
            });
            const uint32_t first = place.warp / warps_in_group * warps_in_group;
            for (uint32_t w = first; w < std::min<size_t>(first + warps_in_group, own.warps.size()); ++w)
                if (w != place.warp) warp.seen[w] = std::max(warp.seen[w], own.products[w].computed_at);
            break;
        }
        default: break;
    }
}

// A product is issued: does wgmma.fence stand behind the writes to its registers?
void Checker::look_for_fence(const Products& products, const Op& op, const std::byte* frame, const Who& here) {
    const RegisterUse& use = launch().program->register_uses[op.line];
    const uint32_t first_thread = here.thread / warp_size * warp_size;
    bool found = false;
    const auto look = [&](uint32_t row, bool of_a) {
        if (row / 64 >= products.writes.size()) return;
        const Products::Write& write = products.writes[row / 64];
        if (write.frame != frame || write.fences != products.fences) return;
        // Compilers move what computes A behind the fence, and ptxas sees to it.  So there has to be none at all, or none
        // since the wait before.
        if (of_a && products.fences > 1 && (write.waits != products.waits || write.waits == products.waits_fenced))
            return;
        found = true;
        // first_time looks at the first letter of a kind
        if (!first_time("Fence", write.line, op.line)) return;
        const Who writes{here.block, first_thread + write.lane, write.line, "writes"};
        report("wgmma-fence", of_a ? "A" : "", "", nullptr, 0, writes, &here);
    };
    for (uint32_t row : use.written) look(row, false);
    for (uint32_t row : use.read) look(row, true);
    if (!found && products.fences == 1 && products.issued == 0 && first_time("Fence", op.line, op.line))
        report("wgmma-fence", "first", "", nullptr, 0, here, nullptr);
}

void Checker::step(const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame) {
    if (!product_kinds_ || !lanes) return;
    const auto& uses = launch().program->register_uses;
    if (op.line >= uses.size()) return;
    const RegisterUse& use = uses[op.line];
    Block& own = block(place);
    if (own.products.size() != own.warps.size()) own.products.resize(own.warps.size());
    Products& products = own.products[place.warp];
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const auto who = [&](uint32_t line, uint32_t of_lane, const char* does) {
        return Who{own.serial, place.warp * warp_size + of_lane, line, does};
    };
    const ProductKind kind = product_kinds_[op.line];
    if (kind == ProductKind::product) {
        look_for_fence(products, op, frame, who(op.line, lane, "uses"));
    } else if (kind == ProductKind::none || kind == ProductKind::copy) {
        for (const Product& product : products.under_way) {
            if (product.frame != frame) continue;
            const RegisterUse& held = uses[product.line];
            const auto among = [](const std::vector<uint32_t>& rows, uint32_t row) {
                return std::find(rows.begin(), rows.end(), row) != rows.end();
            };
            const auto owned = [&](const std::vector<uint32_t>& rows, bool writes) {
                return std::any_of(rows.begin(), rows.end(), [&](uint32_t row) {
                    return among(held.written, row) || (writes && among(held.read, row));
                });
            };
            const bool writes = owned(use.written, true);
            if (!writes && !owned(use.read, false)) continue;
            if (!first_time("Register", product.line, op.line)) continue;
            const Who second = who(op.line, lane, writes ? "writes" : "reads");
            report("wgmma-register", "", "", nullptr, 0, who(product.line, product.lane, "owns"), &second);
        }
        // A copy is as old as what it copies: compilers put copies and constants behind the fence, and ptxas takes them away.
        Products::Write write{frame, op.line, lane, products.fences, products.waits};
        if (kind == ProductKind::copy) {
            const size_t from = use.read.empty() ? products.writes.size() : use.read[0] / 64;
            write = from < products.writes.size() ? products.writes[from] : Products::Write{};
        }
        for (uint32_t row : use.written) {
            if (row / 64 >= products.writes.size()) products.writes.resize(row / 64 + 1);
            products.writes[row / 64] = write;
        }
    }
}

void Checker::note_reading(Block& own, uint32_t group, uint32_t at, uint32_t warps) {
    const size_t groups = own.warps.size() / warps_in_group, cell = at / 16 * groups + group;
    if (cell >= own.read_by.size()) own.read_by.resize((at / 16 + 1) * groups);
    const auto reading = static_cast<uint32_t>(own.readings.size()) << warps_in_group;
    uint32_t& known = own.read_by[cell];
    known = (known >> warps_in_group << warps_in_group == reading ? known : reading) | warps;
}

void Checker::forget_readings(Block& own, uint32_t begin, uint32_t end) {
    const size_t groups = own.warps.size() / warps_in_group, cells = own.read_by.size();
    std::fill(own.read_by.begin() + static_cast<ptrdiff_t>(std::min(begin / 16 * groups, cells)),
              own.read_by.begin() + static_cast<ptrdiff_t>(std::min((end + 15) / 16 * groups, cells)), 0);
}

// A thread writes to shared memory: do the waits of all warps whose products have read there come before?
void Checker::meet_readings(Block& own, const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    const WarpOrder& warp = own.warps[place.warp];
    const uint32_t groups = static_cast<uint32_t>(own.warps.size()) / warps_in_group;
    uint32_t fine = 0, of_group = 0;  // what was looked at last
    for (uint32_t rest = event.lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const uint64_t at = event.addresses[lane], past = (at + event.bytes + 15) / 16;
        for (uint64_t cell = at / 16 * groups; cell < std::min<uint64_t>(past * groups, own.read_by.size()); ++cell) {
            const uint32_t known = own.read_by[cell], group = static_cast<uint32_t>(cell % groups);
            if (!known || (known == fine && group == of_group)) continue;
            // What orders the warpgroups of a cluster's block may go through another block, and is not followed.
            if (own.shares && group != place.warp / warps_in_group) continue;
            fine = known, of_group = group;
            const Reading& reading = own.readings[(known >> warps_in_group) - 1];
            for (uint32_t w = 0; w < warps_in_group; ++w) {
                const uint32_t reader = group * warps_in_group + w, waited = reading.waited[w];
                if (!(known >> w & 1) || (waited && (reader == place.warp || warp.seen[reader] >= waited))) continue;
                if (!first_time("Operand", op.line, reading.line)) break;
                const Who writes{own.serial, place.warp * warp_size + lane, op.line, "writes"};
                const Who reads{own.serial, reader * warp_size + reading.lane, reading.line, "reads"};
                report("wgmma-operand", reader == place.warp ? "" : "other warp", "", nullptr, 0, writes, &reads);
                break;
            }
        }
    }
}

void Checker::product(const WarpPlace& place, const ProductEvent& event) {
    if (!product_kinds_) return;
    Block& own = block(place);
    const uint32_t group = place.warp / warps_in_group * warps_in_group;
    if (own.products.size() < group + warps_in_group) return;
    Product made;
    own.readings.push_back({.line = event.op->line, .lane = 0, .waited = {}});
    own.readings.back().waited[place.warp % warps_in_group] = own.warps[place.warp].clock + 1;
    for (uint32_t i = 0; i < event.count; ++i)
        note_reading(own, group / warps_in_group, event.places[i],
                     i < event.of_a ? 1u << i / (event.of_a / warps_in_group) : (1u << warps_in_group) - 1);
    std::vector<uint32_t> first_mark(own.warps.size(), 0);  // by who writes: of what came after the product began
    for (uint32_t w = group; w < group + warps_in_group; ++w) {
        auto& all = own.products[w].under_way;
        auto same = std::find_if(all.begin(), all.end(), [&](const Product& p) { return p.number == event.number; });
        if (same == all.end()) continue;
        first_mark[w] = same->first_mark;
        if (w != place.warp) {
            same->computed = true;
            same->reading = static_cast<uint32_t>(own.readings.size());
            continue;
        }
        made = *same;
        all.erase(same);
    }
    if (made.proxied.empty() || own.blind) return;
    const uint32_t last = *std::max_element(first_mark.begin(), first_mark.end());
    for (uint32_t w = 0; w < first_mark.size(); ++w)
        if (w < group || w >= group + warps_in_group) first_mark[w] = last;
    own.products[place.warp].computed_at = own.warps[place.warp].clock + 1;
    uint64_t addresses[warp_size];
    uint32_t count = 0;
    auto flush = [&] {
        if (count == 0) return;
        const MemoryEvent read{.space = Space::shared,
                               .access = Access::load,
                               .lanes = count == warp_size ? all_lanes : (1u << count) - 1,
                               .bytes = 16,
                               .addresses = addresses,
                               .asynchronous = true};
        for (uint32_t i = count; i < warp_size; ++i) addresses[i] = addresses[0];
        count = 0;
        memory(place, *event.op, read);
    };
    for (uint32_t i = 0; i < event.count; ++i) {
        const uint32_t at = event.places[i];
        bool fine = true;
        for (size_t cell = at >> own.shared.shift; fine && cell < (at + 16) >> own.shared.shift; ++cell) {
            if (cell >= own.shared.cells()) break;
            const uint32_t written = own.shared.written[cell], id = Cell::id(written);
            if (id < own.marks.base()) continue;
            const Mark& mark = own.marks[id];
            const Who first{own.serial, mark.warp * warp_size + Cell::lane(written), mark.line, "writes"};
            const Who second{own.serial, place.warp * warp_size + made.lane, made.line, "reads"};
            fine = id < first_mark[mark.warp];
            if (!fine) {
                if (first_time("Operand", mark.line, made.line))
                    report("wgmma-operand", "", "", nullptr, 0, first, &second);
            } else if (!mark.pending && mark.clock >= made.proxied[mark.warp]) {
                if (first_time("Proxy", mark.line, made.line))
                    report("proxy-fence", "", "", nullptr, 0, first, &second);
            }
        }
        if (!fine) continue;
        addresses[count++] = at;
        if (count == warp_size) flush();
    }
    flush();
}

}  // namespace softcuda::inspect
