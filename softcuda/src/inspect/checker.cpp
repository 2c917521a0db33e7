// What the checker keeps of launches, blocks and memory.
#include "inspect/checker.h"

#include <algorithm>

#include "inspect/json.h"

namespace softcuda::inspect {
namespace {

// Reads of memory that only the machine or the host fill in are never of nothing.
bool starts_empty(const Allocation& allocation) {
    return allocation.kind == MemoryKind::device && allocation.label.starts_with("cuMemAlloc");
}

const char* name_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::illegal_address:
        case FaultKind::invalid_address_space: return "out-of-bounds";
        case FaultKind::invalid_pc: return "invalid-call";
        case FaultKind::invalid_free: return "invalid-free";
        case FaultKind::misaligned_address: return "misaligned";
        case FaultKind::illegal_instruction: return "illegal-instruction";
        case FaultKind::trap: return "trap";
        case FaultKind::assertion: return "assertion";
        case FaultKind::deadlock: return "barrier";
        case FaultKind::mbarrier: return "mbarrier";
        case FaultKind::timeout: return "timeout";
        case FaultKind::stack_overflow: return "stack-overflow";
        default: return "failure";
    }
}

uint32_t lanes_below(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

}  // namespace

Checker::Checker(const std::string& record) : out_(record) { out_ << "{\"begin\": true}" << end_line; }

// --- launches and blocks

void Checker::launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) {
    auto made = std::make_unique<Launch>();
    made->program = &program;
    made->kernel = &kernel;
    made->config = &config;
    Notes& notes = notes_of_[program.function_base];
    std::vector<Kind>& kinds = notes.kinds;
    if (kinds.size() != program.locations.size()) {
        kinds.clear();
        for (const SourceLine& line : program.locations) kinds.push_back(kind_of(line.text));
        notes.sites.clear();
        notes.prints.clear();
        notes.sites.resize(kinds.size());
        note_products(program, notes);
    }
    product_kinds_ = notes.products.empty() ? nullptr : notes.products.data();
    kinds_ = kinds.data();
    sites_ = notes.sites.data();
    made->notes = &notes;
    made->bulk = std::find(kinds.begin(), kinds.end(), Kind::bulk) != kinds.end();
    made->unseen = std::find(kinds.begin(), kinds.end(), Kind::unseen) != kinds.end();
    launches_.push_back(std::move(made));
    current_ = nullptr;
    current_number_ = ~0ull;
    marks_.forget();  // what earlier launches did comes before
    if (!program.sources.empty() && sources_written_.insert(program.function_base).second) {
        out_ << "{\"program\": " << program.function_base << ", \"sources\": {";
        const char* separator = "";
        for (const auto& [file, text] : program.sources) {
            out_ << separator << quoted(file) << ": " << quoted(text);
            separator = ", ";
        }
        out_ << "}}" << end_line;
    }
}

void Checker::launch_end(const Program&, const Function& kernel, const LaunchConfig& config,
                         const LaunchResult& result) {
    failed_ = failed_ || !result.ok;
    if (!result.ok && result.kind != FaultKind::interrupted && first_time(name_of(result.kind), 0, 0)) {
        const Known* known = result.address ? find(result.address) : nullptr;
        out_ << "{\"program\": " << launch().program->function_base << ", \"kind\": " << quoted(name_of(result.kind))
             << ", \"kernel\": " << quoted(kernel.name) << ", " << shown_name(kernel)
             << ", \"grid\": " << triple(config.grid) << ", \"block\": " << triple(config.block)
             << ", \"message\": " << quoted(result.message) << ", \"address\": " << result.address;
        if (known) out_ << allocation_text(known->allocation, result.address);
        out_ << "}" << end_line;
    }
    for (auto& [_, block] : launch().running) {
        report_rest(*block);
        idle_.push_back(block);
    }
    for (const Guess& guess : launch().guesses)
        if (findings_.insert(guess.key).second) out_ << guess.text << end_line;
    launches_.pop_back();
    kinds_ = launches_.empty() ? nullptr : launch().notes->kinds.data();
    sites_ = launches_.empty() ? nullptr : launch().notes->sites.data();
    product_kinds_ = launches_.empty() || launch().notes->products.empty() ? nullptr : launch().notes->products.data();
    current_ = nullptr;
    current_number_ = ~0ull;
    marks_.forget();
}

void Checker::block_begin(const WarpPlace& place) {
    Launch& own = launch();
    if (idle_.empty()) {
        blocks_.push_back(std::make_unique<Block>());
        idle_.push_back(blocks_.back().get());
    }
    Block& block = *idle_.back();
    idle_.pop_back();
    block.serial = static_cast<uint32_t>(own.blocks.size());
    own.blocks.push_back({place.block[0], place.block[1], place.block[2]});
    const uint64_t threads = own.config->block.count();
    const size_t warps = (threads + warp_size - 1) / warp_size;
    block.warps.resize(warps);
    for (size_t w = 0; w < warps; ++w)
        block.warps[w].start(lanes_below(static_cast<uint32_t>(std::min<uint64_t>(32, threads - w * warp_size))),
                             2 * warps);
    block.groups.assign(warps, 0);
    block.copies.clear();
    block.engines.clear();
    block.inits.clear();
    block.copied.empty();
    block.shares = own.config->cluster.count() > 1;
    block.products.clear();
    block.readings.clear();
    block.read_by.clear();
    block.proxied.clear();
    for (Barrier& barrier : block.barriers) {
        barrier.clocks.assign(2 * warps, 0);
        barrier.knows.clear();
        barrier.waiting.assign(warps, 0);
        barrier.line.assign(warps, 0);
        barrier.counted = barrier.reported = false;
    }
    block.marks.forget();
    if (block.marks.full()) {
        block.shared.clear();
        restart(block.marks);
    }
    block.ordered = block.marks.base();
    block.ended.assign(2 * warps, 0);
    block.gone = 0;
    block.unreported.clear();
    block.fenced = block.counted = block.blind = false;
    if (marks_.full()) forget_global();
    block.global_phase = marks_.next();
    const Dim3& grid = own.config->grid;
    own.running[(uint64_t(place.block[2]) * grid.y + place.block[1]) * grid.x + place.block[0]] = &block;
    current_number_ = ~0ull;
}

void Checker::block_end(const WarpPlace& place) {
    Block& own = block(place);
    report_unread(own);
    report_rest(own);
    idle_.push_back(&own);
    launch().running.erase(current_number_);
    current_number_ = ~0ull;
}

Checker::Block& Checker::find_block(const WarpPlace& place) {
    const Dim3& grid = launch().config->grid;
    const uint64_t number = (uint64_t(place.block[2]) * grid.y + place.block[1]) * grid.x + place.block[0];
    current_ = launch().running.at(number);
    current_number_ = number;
    std::copy_n(place.block, 3, current_place_);
    return *current_;
}

void Checker::forget_global() {
    for (auto& [_, known] : known_) known->shadow.clear();
    restart(marks_);
}

// From one again, so that no site may go on with the mark it had.
void Checker::restart(Marks& marks) {
    marks.restart();
    for (auto& [_, notes] : notes_of_)
        for (Site& site : notes.sites) site.id = 0;
}

// --- memory of the device

void Checker::allocated(uint64_t address, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    changes_.push_back({address, bytes, true});
}

void Checker::written(uint64_t address, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    changes_.push_back({address, bytes, false});
}

void Checker::sees(const std::shared_ptr<const Memory::View>& view) {
    if (view != view_) {
        view_ = view;
        last_known_ = nullptr;
        ++views_seen_;
        std::map<uint64_t, std::unique_ptr<Known>> now;
        for (const Allocation& allocation : *view) {
            auto before = known_.find(allocation.base);
            if (before != known_.end() && before->second->allocation.serial == allocation.serial) {
                now[allocation.base] = std::move(before->second);
                continue;
            }
            // The device's heap goes from thread to thread without a trace.
            const bool tracked = !allocation.read_only && allocation.label != "device heap" &&
                                 allocation.label != "texts of the device runtime";
            now[allocation.base] = std::make_unique<Known>(Known{
                allocation, tracked, Shadow(), Filled(tracked ? allocation.bytes : 0, !starts_empty(allocation))});
        }
        known_ = std::move(now);
    }
    apply_writes();
}

void Checker::apply_writes() {
    std::vector<Change> changes;
    {
        std::lock_guard lock(mutex_);
        changes.swap(changes_);
    }
    for (const Change& change : changes) {
        Known* known = find(change.address);
        if (!known || !known->tracked) continue;
        if (change.fresh) {
            if (starts_empty(known->allocation)) known->filled.empty();
        } else {
            known->filled.fill(change.address - known->allocation.base, change.bytes);
        }
    }
}

void Checker::leaked(const Allocation& allocation) {
    if (failed_) return;  // nothing can be freed after a fault
    std::lock_guard lock(mutex_);
    out_ << "{\"kind\": \"leak\", \"allocation\": {\"number\": " << allocation.serial
         << ", \"bytes\": " << allocation.bytes << ", \"from\": " << quoted(allocation.label) << "}}" << end_line;
}

void Checker::process_end() { out_ << "{\"end\": true}" << end_line; }

}  // namespace softcuda::inspect
