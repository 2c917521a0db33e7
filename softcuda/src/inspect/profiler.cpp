#include "inspect/profiler.h"

#include <algorithm>
#include <bit>

#include "inspect/requests.h"

namespace softcuda::inspect {
namespace {

const char* name_of(Access access) {
    switch (access) {
        case Access::load: return "load";
        case Access::store: return "store";
        case Access::atomic: return "atomic";
        case Access::reduction: return "reduction";
    }
    return "";
}

std::string triple(const Dim3& d) {
    return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + "]";
}

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) < 0x20)
            result += ' ';
        else
            result += c;
    }
    return result + '"';
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

Profiler::Profiler(const std::string& path, uint32_t l1_bytes, uint32_t warps_per_sm)
    : l1_bytes_(l1_bytes), warps_per_sm_(warps_per_sm), out_(path, std::ios::trunc) {}

void Profiler::launch_begin(const Program&, const Function& kernel, const LaunchConfig& config) {
    const uint32_t shared = kernel.static_shared + config.dynamic_shared;
    for (auto& worker : workers_) {
        worker.all.clear();
        worker.function = nullptr;
        worker.loaded.clear();
        worker.l1.resize(shared < l1_bytes_ ? l1_bytes_ - shared : 0);
    }
}

void Profiler::block_begin(const WarpPlace& place) { worker(place).l1.clear(); }

void Profiler::Worker::enter(const Function& entered) {
    function = &entered;
    auto& counted = all[&entered];
    if (counted.empty()) counted.resize(entered.code.size());
    counts = counted.data();
}

void Profiler::instruction(const WarpPlace& place, const Function& function, const Op& op, uint32_t lanes) {
    Worker& own = worker(place);
    if (own.function != &function) own.enter(function);
    Count& count = own.counts[&op - function.code.data()];
    own.current = &count;
    count.warps += 1;
    count.lanes += static_cast<uint32_t>(std::popcount(lanes));
}

void Profiler::branch(const WarpPlace& place, const Op&, uint32_t lanes, uint32_t taken) {
    Count& count = *worker(place).current;
    count.branches += 1;
    count.diverged += taken != 0 && taken != lanes;
}

void Profiler::memory(const WarpPlace& place, const Op&, const MemoryEvent& event) {
    Worker& own = worker(place);
    Count& count = *own.current;  // not the Op of the event: an instruction may resolve an address apart
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
                const uint32_t hits = own.l1.load(touched.number, touched.count);
                traffic.sectors += touched.count;
                traffic.hits += hits;
                if (hits == touched.count) return;  // all of it has come from memory before
                break;
            }
            case Access::store: traffic.sectors += touched.count; return;
            case Access::atomic:
            case Access::reduction: traffic.sectors += atomic_sectors(event.addresses, event.lanes); break;
        }
        for (uint32_t i = 0; i < touched.count; ++i) own.loaded.add(touched.number[i] * sector_bytes);
    }
}

void Profiler::launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                          const LaunchResult& result) {
    std::unordered_map<const Function*, std::vector<Count>> sums;
    GranuleSet loaded;
    for (const Worker& worker : workers_) {
        loaded.merge(worker.loaded);
        for (const auto& [function, counts] : worker.all) {
            auto& sum = sums[function];
            if (sum.empty()) sum.resize(counts.size());
            for (size_t i = 0; i < counts.size(); ++i) sum[i].add(counts[i]);
        }
    }
    write_sources(program);
    const OccupancyLimits& fits = config.occupancy;
    const int blocks = std::min({fits.warps, fits.registers, fits.shared, fits.blocks});
    const uint64_t warps = (config.block.count() + warp_size - 1) / warp_size;
    out_ << "{\"kernel\": " << quoted(kernel.name) << ", \"grid\": " << triple(config.grid)
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
        for (size_t i = 0; i < found->second.size(); ++i) {
            if (!found->second[i].warps) continue;
            out_ << separator;
            write(program, function->code[i], found->second[i]);
            separator = ", ";
        }
    }
    out_ << "]}" << std::endl;
}

void Profiler::write(const Program& program, const Op& op, const Count& count) {
    const SourceLine& line = program.locations[op.line];
    out_ << "{\"text\": " << quoted(line.text) << ", \"file\": " << quoted(program.files[line.file])
         << ", \"line\": " << line.line << ", \"warps\": " << count.warps << ", \"lanes\": " << count.lanes;
    if (count.branches) out_ << ", \"branches\": " << count.branches << ", \"diverged\": " << count.diverged;
    for (const auto& [name, t] :
         {std::pair("global", &count.global), std::pair("shared", &count.shared), std::pair("local", &count.local)})
        if (t->requests)
            out_ << ", \"" << name << "\": {\"access\": \"" << name_of(t->access) << "\", \"requests\": " << t->requests
                 << ", \"bytes\": " << t->bytes << ", \"sectors\": " << t->sectors << ", \"hits\": " << t->hits
                 << ", \"wavefronts\": " << t->wavefronts << ", \"ideal\": " << t->ideal << "}";
    out_ << "}";
}

// The sources of a module, before the first of its launches.
void Profiler::write_sources(const Program& program) {
    if (program.sources.empty() || !told_.insert(program.function_base).second) return;
    out_ << "{\"sources\": {";
    const char* separator = "";
    for (const auto& [file, text] : program.sources) {
        out_ << separator << quoted(file) << ": " << quoted(text);
        separator = ", ";
    }
    out_ << "}}\n";
}

}  // namespace softcuda::inspect
