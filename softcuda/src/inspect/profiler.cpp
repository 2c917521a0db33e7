#include "inspect/profiler.h"

#include <algorithm>
#include <bit>

#include "inspect/json.h"
#include "inspect/requests.h"

namespace softcuda::inspect {
namespace {

const char* metric_of(Access access) {
    switch (access) {
        case Access::load: return "load";
        case Access::store: return "store";
        case Access::atomic: return "atomic";
        case Access::reduction: return "reduction";
    }
    return "";
}

}  // namespace

void Count::add(const Count& other) {
    warps += other.warps, lanes += other.lanes;
    branches += other.branches, diverged += other.diverged;
    for (Traffic Count::* which : {&Count::global, &Count::shared, &Count::local}) {
        Traffic& sum = this->*which;
        const Traffic& more = other.*which;
        sum.requests += more.requests, sum.bytes += more.bytes, sum.sectors += more.sectors, sum.hits += more.hits;
        sum.wavefronts += more.wavefronts, sum.ideal += more.ideal;
        if (more.requests) sum.access = more.access;
    }
}

Profiler::Profiler(const std::string& record, uint32_t l1_bytes, uint32_t warps_per_sm)
    : l1_bytes_(l1_bytes), warps_per_sm_(warps_per_sm), out_(record) {}

// These lines name what has not ended, should the process end before.
void Profiler::queued() {
    std::lock_guard lock(mutex_);
    out_ << "{\"queued\": true}" << end_line;
}

void Profiler::launch_begin(const Program&, const Function& kernel, const LaunchConfig& config) {
    {
        std::lock_guard lock(mutex_);
        out_ << "{\"begins\": " << quoted(kernel.name) << ", " << shown_name(kernel)
             << ", \"grid\": " << triple(config.grid) << ", \"block\": " << triple(config.block)
             << ", \"depth\": " << launches_.size() << "}" << end_line;
    }
    const uint32_t shared = kernel.static_shared + config.dynamic_shared;
    Launch launch{shared < l1_bytes_ ? l1_bytes_ - shared : 0, {}};
    launch.workers.resize(most_workers);
    launches_.push_back(std::move(launch));
}

void Profiler::block_begin(const WarpPlace& place) {
    Launch& launch = launches_.back();
    std::unique_ptr<Worker>& own = launch.workers[place.worker];
    if (!own) {
        own = std::make_unique<Worker>();
        own->l1.resize(launch.l1_bytes);
    }
    own->l1.clear();
}

Profiler::Listing::Listing(const Function& function)
    : code(function.code.data()), counts(function.code.size() + 1), sites(function.code.size()) {}

inline Profiler::Listing& Profiler::Worker::in(const Function& entered) {
    if (function != &entered) {
        function = &entered;
        auto& own = all[&entered];
        if (!own) own = std::make_unique<Listing>(entered);
        listing = own.get();
    }
    return *listing;
}

// Counts of an instruction are kept as the difference to the one before: a segment is counted at its two ends.
void Profiler::segment(const WarpPlace& place, const Op* first, const Op* end, uint32_t lanes) {
    Listing& own = worker(place).in(*place.function);
    Count& from = own.counts[static_cast<size_t>(first - own.code)];
    Count& to = own.counts[static_cast<size_t>(end - own.code)];
    const auto many = static_cast<uint32_t>(std::popcount(lanes));
    from.warps += 1, from.lanes += many;
    to.warps -= 1, to.lanes -= many;
}

void Profiler::idle(const WarpPlace& place, const Op& op, uint32_t lanes) {
    Listing& own = worker(place).in(*place.function);
    Count* count = &own.counts[static_cast<size_t>(&op - own.code)];
    const auto many = static_cast<uint32_t>(std::popcount(lanes));
    count[0].lanes -= many;
    count[1].lanes += many;
}

void Profiler::instruction(const WarpPlace& place, const Op& op, uint32_t lanes) {
    segment(place, &op, &op + 1, lanes);
}

void Profiler::branch(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t taken) {
    Listing& own = worker(place).in(*place.function);
    Count& count = own.counts[static_cast<size_t>(&op - own.code)];
    count.branches += 1;
    count.diverged += taken != 0 && taken != lanes;
}

// What is known of the pattern at hand.
[[gnu::always_inline]] inline Profiler::Known& Profiler::Listing::met(const Op& op, const RowAccess& access,
                                                                      const BaseRow& base) {
    std::unique_ptr<Site>& site = sites[static_cast<size_t>(&op - code)];
    if (!site) site = std::make_unique<Site>();
    const uint32_t low_bits = base.first & (op.space == Space::shared ? bank_bytes - 1 : line_bytes - 1);
    Known& known = site->at(base, low_bits / sector_bytes);
    if (low_bits >= known.from && low_bits <= known.to && known.pattern.matches(base)) {
        site->credit.met_again();
        return known;
    }
    add_to_count(op, known);
    const bool keep = !site->credit.exhausted();
    learn(op, access, known, keep);
    if (keep) site->credit.met_another();
    return known;
}

void Profiler::access(const WarpPlace& place, const Op& op, const RowAccess& access) {
    Worker& worker_of = worker(place);
    Listing& own = worker_of.in(*place.function);
    const auto index = static_cast<size_t>(&op - own.code);
    if (op.space == Space::local) {
        Count::Traffic& traffic = own.counts[index].local;
        traffic.access = op.access;
        traffic.requests += 1;
        traffic.bytes += op.access_bytes * static_cast<uint32_t>(std::popcount(access.lanes));
        return;
    }
    const BaseRow base(op, access);
    Known& known = own.met(op, access, base);
    ++known.uses;
    if (op.space == Space::shared || op.access == Access::store) return;
    const uint64_t line = base.first / line_bytes;
    uint32_t hits = 0;
    if (op.access == Access::load) {
        for (uint32_t i = 0; i < known.lines; ++i)
            hits += worker_of.l1.load(line + static_cast<uint64_t>(known.line[i]), known.in_line[i]);
        known.hits += hits;
        if (hits == known.sectors) return;  // all of it has come from memory before
    }
    for (uint32_t i = 0; i < known.lines; ++i)
        worker_of.loaded.add(line + static_cast<uint64_t>(known.line[i]), known.in_line[i]);
}

// Conflicts are the same wherever a pattern begins, by whole words.
void Profiler::loads(const WarpPlace& place, const Loads& all, const RowAccess& row) {
    Listing& own = worker(place).in(*place.function);
    ++own.met(all[0], row, BaseRow(all[0], row)).uses_together;
    own.sites[static_cast<size_t>(all.first - own.code)]->together = all;
}

void Profiler::learn(const Op& op, const RowAccess& access, Known& known, bool keep) {
    uint64_t addresses[warp_size];
    const MemoryEvent event = event_of(op, access, addresses);
    if (keep)
        known.pattern.keep(addresses, access.lanes);
    else
        known.pattern.forget();
    known.bytes = event.bytes * static_cast<uint32_t>(std::popcount(access.lanes));
    const uint64_t first = addresses[std::countr_zero(access.lanes)];
    if (op.space == Space::shared) {
        known.passes = shared_passes(addresses, access.lanes, event.bytes);
        known.from = known.to = first & (bank_bytes - 1);
        return;
    }
    // How far all lanes may move together, each within its sector.
    uint32_t below = sector_bytes, above = sector_bytes;
    for (uint32_t rest = access.lanes; rest; rest &= rest - 1) {
        const auto in_sector = static_cast<uint32_t>(addresses[std::countr_zero(rest)] % sector_bytes);
        below = std::min(below, in_sector);
        above = std::min(above, sector_bytes - 1 - in_sector);
    }
    known.from = static_cast<uint32_t>(first % line_bytes) - below;
    known.to = static_cast<uint32_t>(first % line_bytes) + above;
    const Sectors touched = sectors(addresses, access.lanes);
    const bool updates = op.access == Access::atomic || op.access == Access::reduction;
    known.sectors = updates ? atomic_sectors(addresses, access.lanes) : touched.count;
    known.lines = touched.lines;
    for (uint32_t i = 0; i < touched.lines; ++i) {
        known.line[i] = static_cast<int64_t>(touched.line[i] - first / line_bytes);
        known.in_line[i] = touched.in_line[i];
    }
}

// Adds what was met so often to the instruction's Count.
void Profiler::Listing::add_to_count(const Op& op, Known& known) {
    const auto add = [&](size_t at, uint64_t uses) {
        if (!uses) return;
        Count::Traffic& traffic = op.space == Space::shared ? counts[at].shared : counts[at].global;
        traffic.access = op.access;
        traffic.requests += uses;
        traffic.bytes += uses * known.bytes;
        traffic.sectors += uses * known.sectors;
        traffic.hits += known.hits;
        traffic.wavefronts += uses * known.passes.wavefronts;
        traffic.ideal += uses * known.passes.ideal;
    };
    const auto index = static_cast<size_t>(&op - code);
    add(index, known.uses);
    const Loads& together = sites[index]->together;
    for (uint32_t i = 0; i < together.count; ++i) add(index + size_t(i) * together.apart, known.uses_together);
    known.uses = known.uses_together = known.hits = 0;
}

void Profiler::Listing::finish() {
    for (size_t i = 0; i < sites.size(); ++i)
        if (sites[i])
            for (Known& known : sites[i]->entries) add_to_count(code[i], known);
    uint64_t warps = 0, lanes = 0;
    for (Count& count : counts) {
        count.warps = warps += count.warps;
        count.lanes = lanes += count.lanes;
    }
}

// As an H200 counts: a request for each of the four warps, and every byte once, without conflicts.
void Profiler::product(const WarpPlace& place, const ProductEvent& event) {
    Listing& own = worker(place).in(*place.function);
    const auto index = static_cast<size_t>(event.op - own.code);
    if (index >= own.counts.size()) return;  // it was issued by another function, which called this one
    Count::Traffic& traffic = own.counts[index].shared;
    const uint64_t wavefronts = uint64_t(16) * event.count / 128;
    traffic.access = Access::load;
    traffic.requests += warps_in_group;
    traffic.bytes += uint64_t(16) * event.count;
    traffic.wavefronts += wavefronts;
    traffic.ideal += wavefronts;
}

void Profiler::memory(const WarpPlace& place, const Op&, const MemoryEvent& event) {
    Worker& worker_of = worker(place);
    Listing& own = worker_of.in(*place.function);
    // Not the Op of the event: an instruction may resolve an address apart.
    Count& count = own.counts[static_cast<size_t>(event.running - own.code)];
    if (event.space != Space::shared && event.space != Space::global && event.space != Space::local) return;
    Count::Traffic& traffic = event.space == Space::shared   ? count.shared
                              : event.space == Space::global ? count.global
                                                             : count.local;
    traffic.access = event.access;
    traffic.requests += 1;
    traffic.bytes += uint64_t(event.bytes) * static_cast<uint32_t>(std::popcount(event.lanes));
    if (event.space == Space::shared) {
        const SharedPasses passes = shared_passes(event.addresses, event.lanes, event.bytes);
        traffic.wavefronts += passes.wavefronts;
        traffic.ideal += passes.ideal;
    } else if (event.space == Space::global) {
        const Sectors touched = sectors(event.addresses, event.lanes);
        switch (event.access) {
            case Access::load: {
                uint32_t hits = 0;
                for (uint32_t i = 0; i < touched.lines; ++i)
                    hits += worker_of.l1.load(touched.line[i], touched.in_line[i]);
                traffic.sectors += touched.count;
                traffic.hits += hits;
                if (hits == touched.count) return;  // all of it has come from memory before
                break;
            }
            case Access::store: traffic.sectors += touched.count; return;
            case Access::atomic:
            case Access::reduction: traffic.sectors += atomic_sectors(event.addresses, event.lanes); break;
        }
        for (uint32_t i = 0; i < touched.lines; ++i) worker_of.loaded.add(touched.line[i], touched.in_line[i]);
    }
}

// As an H200 counts them: of a load every row of the box, wherever it lies, and for every block that receives it; of a
// store what is inside of the tensor.  A row takes whole sectors.
void Profiler::bulk(const WarpPlace& place, const Op& op, const BulkEvent& event) {
    if (event.row_bytes == 0) return;  // from block to block
    Worker& worker_of = worker(place);
    Listing& own = worker_of.in(*place.function);
    Count::Traffic& traffic = own.counts[static_cast<size_t>(&op - own.code)].global;
    traffic.access = event.access;
    traffic.requests += event.first;
    if (event.access == Access::load) {
        const uint64_t row = (event.row_bytes + sector_bytes - 1) / sector_bytes;
        traffic.sectors += event.rows * row * event.written.size();
    }
    for (const BulkEvent::Range& range : event.global) {
        traffic.bytes += range.bytes;
        const uint64_t first = range.address / sector_bytes, last = (range.address + range.bytes - 1) / sector_bytes;
        if (event.access != Access::load) traffic.sectors += last - first + 1;
        if (event.access == Access::store) continue;
        for (uint64_t sector = first; sector <= last; ++sector)
            worker_of.loaded.add(sector / line_sectors, static_cast<uint8_t>(1u << sector % line_sectors));
    }
}

void Profiler::launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                          const LaunchResult& result) {
    std::unordered_map<const Function*, std::vector<Count>> sums;
    GranuleSet loaded;
    for (const std::unique_ptr<Worker>& worker : launches_.back().workers) {
        if (!worker) continue;
        loaded.merge(worker->loaded);
        for (const auto& [function, listing] : worker->all) {
            listing->finish();
            auto& sum = sums[function];
            if (sum.empty()) sum.resize(listing->counts.size());
            for (size_t i = 0; i < listing->counts.size(); ++i) sum[i].add(listing->counts[i]);
        }
    }
    launches_.pop_back();
    std::lock_guard lock(mutex_);
    write_sources(program);
    const OccupancyLimits& fits = config.occupancy;
    const int blocks = std::min({fits.warps, fits.registers, fits.shared, fits.blocks});
    const uint64_t warps = (config.block.count() + warp_size - 1) / warp_size;
    out_ << "{\"kernel\": " << quoted(kernel.name) << ", " << shown_name(kernel)
         << ", \"program\": " << program.function_base << ", \"grid\": " << triple(config.grid)
         << ", \"block\": " << triple(config.block) << ", \"ok\": " << (result.ok ? "true" : "false")
         << ", \"launch\": {\"launch__registers_per_thread\": " << std::max(16, kernel.registers)
         << ", \"launch__shared_mem_per_block_static\": " << kernel.static_shared
         << ", \"launch__shared_mem_per_block_dynamic\": " << config.dynamic_shared
         << ", \"launch__occupancy_limit_warps\": " << fits.warps
         << ", \"launch__occupancy_limit_registers\": " << fits.registers
         << ", \"softcuda__occupancy_limit_shared_mem\": " << fits.shared
         << ", \"launch__occupancy_limit_blocks\": " << fits.blocks
         << ", \"sm__maximum_warps_per_active_cycle_pct\": " << 100.0 * double(blocks) * double(warps) / warps_per_sm_
         << "}, \"memory_bytes\": " << loaded.count() * GranuleSet::granule_bytes << ", \"operations\": [";
    const char* separator = "";
    for (const auto& function : program.functions) {
        const auto found = sums.find(function.get());
        if (found == sums.end()) continue;
        for (size_t i = 0; i < function->code.size(); ++i) {
            if (!found->second[i].warps) continue;
            out_ << separator;
            write(program, function->code[i], found->second[i]);
            separator = ", ";
        }
    }
    out_ << "]}" << end_line;
}

void Profiler::process_end() {
    std::lock_guard lock(mutex_);
    out_ << "{\"end\": true}" << end_line;
}

void Profiler::write(const Program& program, const Op& op, const Count& count) {
    const SourceLine& line = program.locations[op.line];
    out_ << "{\"text\": " << quoted(line.text) << ", \"file\": " << quoted(program.files[line.file])
         << ", \"line\": " << line.line << ", \"warps\": " << count.warps << ", \"lanes\": " << count.lanes;
    if (count.branches) out_ << ", \"branches\": " << count.branches << ", \"diverged\": " << count.diverged;
    for (const auto& [name, t] :
         {std::pair("global", &count.global), std::pair("shared", &count.shared), std::pair("local", &count.local)})
        if (t->requests)
            out_ << ", \"" << name << "\": {\"access\": \"" << metric_of(t->access)
                 << "\", \"requests\": " << t->requests << ", \"bytes\": " << t->bytes
                 << ", \"sectors\": " << t->sectors << ", \"hits\": " << t->hits
                 << ", \"wavefronts\": " << t->wavefronts << ", \"ideal\": " << t->ideal << "}";
    out_ << "}";
}

// The sources of a module, before the first of its launches.
void Profiler::write_sources(const Program& program) {
    if (program.sources.empty() || !written_.insert(program.function_base).second) return;
    out_ << "{\"program\": " << program.function_base << ", \"sources\": {";
    const char* separator = "";
    for (const auto& [file, text] : program.sources) {
        out_ << separator << quoted(file) << ": " << quoted(text);
        separator = ", ";
    }
    out_ << "}}\n";
}

}  // namespace softcuda::inspect
