// A grid on worker threads.
#include "machine/launch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <numeric>
#include <optional>
#include <thread>

#include "machine/block.h"
#include "machine/device_runtime.h"
#include "machine/interrupts.h"
#include "machine/printer.h"
#include "machine/specials.h"
#include "ptx/names.h"

namespace softcuda {

std::string fault_head(FaultKind kind, const Launch& launch);
std::string block_name(const Block& block);

namespace {

// How much a warp does before the next one of its block runs, and a block before the next resident one does.  Long
// enough that switching costs nothing; a spinning operation counts for 16384 (schedule.cpp).
constexpr int64_t warp_slice = 200'000;
constexpr int64_t block_turn = 4'000'000;
constexpr uint32_t most_idle_turns = 16;  // in which nothing but waiting happens in a cluster
// Blocks that neither spin nor end for this long are joined by others, in case they spin in a way that does not show.
constexpr int64_t block_patience = 400'000'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::byte* map_pages(size_t bytes) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(pages);
}

}  // namespace

// --- what a launch's workers share

void Launch::report(Fault fault) {
    std::lock_guard lock(mutex_);
    if (cancelled && fault.block >= fault_.block) return;
    fault_block = std::min(fault_block.load(), fault.block);
    cancelled = true;
    fault_ = std::move(fault);
}

Fault Launch::take_fault() {
    std::lock_guard lock(mutex_);
    return std::move(fault_);
}

uint64_t Launch::permuted(uint64_t turn) const {
    if (machine->shuffle_seed == 0 || cluster_count < 3) return turn;
    // turn -> (a * turn + b) mod n with a coprime to n visits every block once.
    std::mt19937_64 random(machine->shuffle_seed);
    uint64_t n = cluster_count, a = random() % n, b = random() % n;
    while (std::gcd(a, n) != 1) a = (a + 1) % n;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * turn + b) % n);
}

std::array<uint32_t, 3> Launch::first_block(uint64_t cluster) const {
    const Dim3 &grid = config->grid, &shape = config->cluster;
    const uint64_t across = grid.x / shape.x, down = grid.y / shape.y;
    return {static_cast<uint32_t>(cluster % across * shape.x), static_cast<uint32_t>(cluster / across % down * shape.y),
            static_cast<uint32_t>(cluster / (across * down) * shape.z)};
}

uint32_t Launch::enter_sm(uint64_t number) {
    const auto sms = static_cast<uint32_t>(machine->sm_count);
    const auto first = static_cast<uint32_t>(number % sms);
    for (uint32_t i = 0; i < sms; ++i) {
        const uint32_t sm = (first + i) % sms;
        uint32_t none = 0;
        if (on_sm[sm].compare_exchange_strong(none, 1, std::memory_order_acquire)) return sm;
    }
    on_sm[first].fetch_add(1, std::memory_order_relaxed);
    return first;
}

Launch::Taken Launch::take_cluster() {
    const uint64_t turn = next_cluster.fetch_add(1, std::memory_order_relaxed);
    if (turn >= cluster_count) return {};
    return {true, first_block(permuted(turn))};
}

// --- one worker

Worker::Worker(Launch& launch_of, int index_of)
    : launch(launch_of), index(index_of), random_(launch_of.machine->shuffle_seed + static_cast<uint64_t>(index_of)) {
    free_frames_.resize(launch.program->functions.size(), nullptr);
}

Worker::~Worker() {
    for (auto& block : blocks_) {
        std::free(block->shared);
        std::free(block->frames);
        if (block->local) munmap(block->local, size_t(block->local_stride) * block->warps.size() * warp_size);
    }
    for (Frame* frame : all_frames_) {
        std::free(frame->rows);
        delete frame;
    }
}

Frame* Worker::take_frame(const Function& function) {
    Frame*& free = free_frames_[function.index];
    if (free) {
        Frame* frame = free;
        free = frame->next_free;
        return frame;
    }
    auto* frame = new Frame;
    all_frames_.push_back(frame);
    frame->function = &function;
    size_t bytes = (std::max<size_t>(function.frame_bytes, 64) + 63) / 64 * 64;
    frame_bytes += bytes;
    frame->rows = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
    if (!frame->rows) throw std::bad_alloc();
    std::memcpy(frame->rows, function.image.data(), function.image.size());
    return frame;
}

void Worker::give_frame(Frame* frame) {
    Frame*& free = free_frames_[frame->function->index];
    frame->next_free = free;
    free = frame;
}

Block* Worker::make_block() {
    if (!idle_blocks_.empty()) {
        Block* block = idle_blocks_.back();
        idle_blocks_.pop_back();
        return block;
    }
    blocks_.push_back(std::make_unique<Block>());
    Block& block = *blocks_.back();
    block.launch = &launch;
    block.worker = this;
    const uint64_t threads = launch.config->block.count();
    const size_t warps = (threads + warp_size - 1) / warp_size;
    block.shared_bytes = launch.shared_bytes;
    if (block.shared_bytes) {
        block.shared = static_cast<std::byte*>(std::aligned_alloc(256, (block.shared_bytes + 255) / 256 * 256));
        if (!block.shared) throw std::bad_alloc();
    }
    block.local_stride = launch.local_stride;
    if (block.local_stride) block.local = map_pages(size_t(block.local_stride) * warps * warp_size);
    // An odd number of cache lines: the same row of all warps does not fall into one set of the cache.
    block.frame_stride = (launch.kernel->frame_bytes / 64 | 1) * 64;
    frame_bytes += block.frame_stride * warps;
    block.frames = static_cast<std::byte*>(std::aligned_alloc(64, block.frame_stride * warps));
    if (!block.frames) throw std::bad_alloc();
    // Where the order of warps may show in the result (atomics with results, volatile reads, printf), it stays the plain one.
    block.may_lockstep = warps > 1 && threads % warp_size == 0 && !launch.observer &&
                         launch.machine->shuffle_seed == 0 && launch.kernel->lockstep_safe && !launch.kernel->ordered;
    for (size_t i = 0; i < warps; ++i) {
        block.warps.push_back(std::make_unique<WarpState>());
        WarpState& warp = *block.warps.back();
        warp.block = &block;
        warp.worker = this;
        warp.observer = launch.observer;
        warp.index = static_cast<uint32_t>(i);
        warp.frame_stride = block.frame_stride;
        uint64_t left = threads - i * warp_size;
        warp.present = left >= warp_size ? all_lanes : (1u << left) - 1;
        block.order.push_back(static_cast<uint32_t>(i));
        block.all_warps.push_back(&warp);
    }
    // With few warps, bases kept apart cost as much as they save.
    if (block.may_lockstep && launch.kernel->bases && warps >= 4 && launch.config->block.x % warp_size == 0)
        block.bases = std::make_unique<AffineBases>(block, *launch.kernel->bases);
    return &block;
}

void Worker::start_block(Block& block, uint64_t number) {
    const Dim3& grid = launch.config->grid;
    block.number = number;
    block.index[0] = static_cast<uint32_t>(number % grid.x);
    block.index[1] = static_cast<uint32_t>(number / grid.x % grid.y);
    block.index[2] = static_cast<uint32_t>(number / (uint64_t(grid.x) * grid.y));
    block.smid = launch.enter_sm(number);
    block.live = static_cast<uint32_t>(launch.config->block.count());
    block.pending_barriers = 0;
    for (Barrier& barrier : block.barriers) barrier.pending = false;
    // Shared memory holds nothing of use at the start of a block; let it look wrong.
    if (block.shared) std::memset(block.shared, 0xCD, block.shared_bytes);
    const bool affine = block.bases && block.bases->begin();
    block.code = affine ? launch.kernel->affine.data() : launch.kernel->stream(launch.observer).data();
    if (launch.machine->shuffle_seed) std::shuffle(block.order.begin(), block.order.end(), random_);
    for (auto& warp : block.warps) warp->start(*launch.kernel);
    if (launch.observer) launch.observer->block_begin(block.warps[0]->place());
}

bool Worker::admit() {
    uint64_t turn = launch.next_cluster.fetch_add(1, std::memory_order_relaxed);
    if (turn >= launch.cluster_count) return false;
    uint64_t number = launch.permuted(turn);
    const Dim3& grid = launch.config->grid;
    const Dim3& shape = launch.config->cluster;
    std::unique_ptr<Cluster> cluster;
    if (idle_clusters_.empty()) {
        cluster = std::make_unique<Cluster>();
    } else {
        cluster = std::move(idle_clusters_.back());
        idle_clusters_.pop_back();
        cluster->arrived = 0, cluster->spent = 0, cluster->spins = 0, cluster->idle_turns = 0;
        cluster->async.reset();
    }
    if (launch.cluster_blocks == 1) {
        Block* block = make_block();
        block->cluster = cluster.get();
        start_block(*block, number);
        cluster->blocks.push_back(block);
    } else {
        const auto [first_x, first_y, first_z] = launch.first_block(number);
        uint32_t rank = 0;
        for (uint32_t z = 0; z < shape.z; ++z)
            for (uint32_t y = 0; y < shape.y; ++y)
                for (uint32_t x = 0; x < shape.x; ++x) {
                    Block* block = make_block();
                    block->cluster = cluster.get();
                    block->cluster_rank = rank++;
                    start_block(*block, ((uint64_t(first_z) + z) * grid.y + first_y + y) * grid.x + first_x + x);
                    cluster->blocks.push_back(block);
                }
    }
    cluster->ranks = cluster->blocks;
    resident_.push_back(std::move(cluster));
    return true;
}

namespace {

// With what the device may use of its peers' memory.
std::shared_ptr<const Memory::View> merged(std::shared_ptr<const Memory::View> own,
                                           const std::vector<Allocation>& elsewhere) {
    if (elsewhere.empty()) return own;
    auto all = std::make_shared<Memory::View>(*own);
    for (const Allocation& allocation : elsewhere) all->insert(allocation);
    return all;
}

[[noreturn]] void end_in_deadlock(FaultKind kind, const Launch& launch, const std::vector<Block*>& blocks) {
    std::string waits;
    for (const Block* block : blocks) waits += block->waits();
    Fault fault;
    fault.kind = kind;
    fault.block = blocks[0]->number;
    fault.message =
        fault_head(kind, launch) + ", " + block_name(*blocks[0]) + ": every warp that has not ended waits" + waits;
    throw FaultError{std::move(fault)};
}

}  // namespace

void Worker::look_at_memory() {
    if (launch.memory->is_current(seen_.get())) return;
    auto now = launch.memory->view();
    if (view) past_views_.push_back(std::move(view));
    seen_ = std::move(now);
    view = merged(seen_, launch.config->elsewhere);
    load_spans.fill({});
    store_spans.fill({});
}

void Worker::look_at_clock(const Cluster& cluster) {
    const bool interrupted = interrupts.load(std::memory_order_relaxed) != launch.interrupts;
    if (!interrupted && !(launch.has_deadline && std::chrono::steady_clock::now() > launch.deadline)) return;
    Fault fault;
    fault.kind = interrupted ? FaultKind::interrupted : FaultKind::timeout;
    fault.block = 0;
    fault.message = fault_head(fault.kind, launch) + ", " + block_name(*cluster.blocks[0]) + " still ran after ";
    if (interrupted) {
        const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - launch.started;
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f", ran.count());
        fault.message += std::string(seconds) + " s and was ended; what it has written so far is partial";
    } else {
        fault.message += std::to_string(launch.machine->time_limit_s) + " s";
    }
    uint32_t shown = 0;
    for (const Block* block : cluster.blocks)
        for (const auto& warp : block->warps)
            if (!warp->finished() && warp->awaited && ++shown <= 4) fault.message += warp->awaits();
    throw FaultError{std::move(fault)};
}

// Only threads of the cluster and their copies reach its mbarriers.  Copies that could end a phase have landed when a warp
// asks, so if all warps do nothing but ask, or wait elsewhere, nothing will ever change.
void Worker::look_for_deadlock(Cluster& cluster) {
    bool waited = true;
    for (const Block* block : cluster.blocks)
        for (const auto& warp : block->warps) waited = (warp->finished() || warp->only_waited()) && waited;
    cluster.idle_turns = waited ? cluster.idle_turns + 1 : 0;
    if (cluster.idle_turns > most_idle_turns) end_in_deadlock(FaultKind::mbarrier, launch, cluster.blocks);
}

// Until its blocks are finished (false) or others should have a turn (true).
bool Worker::run_turn(Cluster& cluster) {
    int64_t spent = 0, looked = 0;
    const uint64_t spins_before = cluster.spins;
    auto has_run = [&](int64_t work) {
        spent += work;
        if (spent - looked < warp_slice) return;
        looked = spent;
        look_at_clock(cluster);
    };
    std::vector<Block*>& blocks = cluster.blocks;
    while (spent < block_turn) {
        bool progress = false;
        bool preempted = false;
        for (size_t i = 0; i < blocks.size();) {
            Block& block = *blocks[i];
            if (block.in_lockstep()) {
                uint64_t spins = 0;
                for (auto& warp : block.warps) spins -= warp->spin_total;
                const int64_t work = block.run_lockstep(warp_slice);
                has_run(work);
                for (auto& warp : block.warps) spins += warp->spin_total;
                cluster.spins += spins;
                progress = true;
                if (work >= warp_slice && block.live) {  // in lockstep still, or about to part
                    preempted = true;
                    ++i;
                    continue;
                }
            }
            for (uint32_t w : block.order) {
                WarpState& warp = *block.warps[w];
                if (block.live == 0) break;
                if (!warp.runnable()) continue;
                int64_t slice = warp_slice;
                if (launch.machine->shuffle_seed) slice = 1 + static_cast<int64_t>(random_() % 2000);
                uint64_t spins = warp.spin_total;
                Stop stop = warp.run(slice);
                has_run(warp.spent);
                cluster.spins += warp.spin_total - spins;
                progress = true;
                preempted = preempted || stop == Stop::preempted;
            }
            if (block.live == 0) {
                finish_copies(block);
                if (launch.observer) launch.observer->block_end(block.warps[0]->place());
                launch.leave_sm(block.smid);
                idle_blocks_.push_back(&block);
                cluster.ranks[block.cluster_rank] = nullptr;
                blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
                if (launch.runtime) launch.runtime->run_pending();
            } else {
                ++i;
            }
        }
        if (blocks.empty()) return false;
        if (!progress) end_in_deadlock(FaultKind::deadlock, launch, blocks);
        if (preempted && launch.cancelled.load(std::memory_order_relaxed)) break;
    }
    cluster.spent += spent;
    if (cluster.spins != spins_before) look_for_deadlock(cluster);
    return true;
}

void Worker::run() {
    try {
        if (launch.config->cooperative)
            while (resident_.size() < launch.resident_limit && admit()) {
            }
        for (size_t next = 0;;) {
            if (resident_.empty() && !admit()) return;
            if (next >= resident_.size()) {
                // Everybody has had a turn.  If some spin, who they wait for may not have started: make room.
                next = 0;
                bool spinning = false;
                for (auto& cluster : resident_)
                    spinning = spinning || cluster->spins > 64 || cluster->spent > block_patience;
                if (spinning && launch.runtime) launch.runtime->run_pending();
                size_t wanted = spinning ? resident_.size() * 2 : resident_.size();
                wanted = std::min<size_t>(wanted, launch.resident_limit);
                while (resident_.size() < wanted && admit()) {
                }
            }
            look_at_memory();
            Cluster& cluster = *resident_[next];
            if (launch.cancelled.load(std::memory_order_relaxed) &&
                cluster.blocks[0]->number >= launch.fault_block.load())
                return;
            look_at_clock(cluster);
            if (run_turn(cluster)) {
                ++next;
            } else {
                idle_clusters_.push_back(std::move(resident_[next]));
                resident_.erase(resident_.begin() + static_cast<ptrdiff_t>(next));
            }
        }
    } catch (FaultError& error) {
        launch.report(std::move(error.fault));
    } catch (const std::exception& error) {
        Fault fault;
        fault.block = 0;
        fault.message = fault_head(fault.kind, launch) + ": " + error.what();
        launch.report(std::move(fault));
    }
}

// --- the machine

namespace {

// What a launch from the host and all that its kernels launch have in common.
struct Family {
    MachineConfig machine;
    std::chrono::steady_clock::time_point deadline;
    bool has_deadline = false;
    uint64_t interrupts = 0;
};

}  // namespace

struct Machine::State {
    MachineConfig config;
    Memory& memory;
    Observer* observer = nullptr;
    Printer printer;
    DeviceHeap heap;
    DeviceRuntime runtime;
    std::mutex mutex;  // one launch at a time
    uint64_t launches = 0;
    struct Parameters {
        uint64_t address = 0, capacity = 0;
    };
    std::vector<Parameters> params;  // by depth: a parent's stay while its children run
    uint64_t grid_workspace = 0;

    State(const MachineConfig& given, Memory& device) : config(given), memory(device), heap(device), runtime(device) {}

    // One grid, all that it launches, and the tail launches of all those.
    LaunchResult run(const Program& program, const Function& kernel, const LaunchConfig& config, const Family& family,
                     int depth);
    LaunchResult run_grid(const Program& program, const Function& kernel, const LaunchConfig& config,
                          const Family& family, int depth, std::deque<DeviceWork>& tail);
    LaunchResult move_bytes(const DeviceWork& work, const Function& asked_by);
    std::byte* place_params(const Function& kernel, const LaunchConfig& config, int depth);
};

Machine::Machine(const MachineConfig& config, Memory& memory) : state_(std::make_unique<State>(config, memory)) {}

Machine::~Machine() {
    for (const State::Parameters& params : state_->params)
        if (params.address) state_->memory.release(params.address);
    if (state_->grid_workspace) state_->memory.release(state_->grid_workspace);
}

void Machine::set_observer(Observer* observer) { state_->observer = observer; }
bool Machine::observed() const { return state_->observer; }
Observer* Machine::observer() const { return state_->observer; }
void Machine::set_printer(std::function<void(std::string_view)> printer) {
    state_->printer.set_sink(std::move(printer));
}
bool Machine::holds_printf() const { return state_->printer.pending(); }
void Machine::flush_printf() { state_->printer.flush(); }
const MachineConfig& Machine::config() const { return state_->config; }
void Machine::set_config(const MachineConfig& config) {
    std::lock_guard lock(state_->mutex);
    state_->config = config;
}

LaunchResult Machine::launch(const Program& program, const Function& kernel, const LaunchConfig& config) {
    std::lock_guard lock(state_->mutex);
    if (interrupts.load(std::memory_order_relaxed) != config.interrupts)
        return {.ok = false, .kind = FaultKind::interrupted, .message = {}};  // before it began
    Family family{state_->config, {}, false, config.interrupts};
    MachineConfig& machine = family.machine;
    machine.shuffle_seed = from_environment("SOFTCUDA_SEED", machine.shuffle_seed);
    if (const char* limit = std::getenv("SOFTCUDA_TIMEOUT"); limit && *limit) machine.time_limit_s = std::atof(limit);
    if (machine.time_limit_s > 0) {
        family.has_deadline = true;
        family.deadline =
            std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                   std::chrono::duration<double>(machine.time_limit_s));
    }
    state_->runtime.pending = 0;
    state_->runtime.said_why = false;
    return state_->run(program, kernel, config, family, 0);
}

LaunchResult Machine::State::run(const Program& program, const Function& kernel, const LaunchConfig& config,
                                 const Family& family, int depth) {
    std::deque<DeviceWork> tails;
    LaunchResult result = run_grid(program, kernel, config, family, depth, tails);
    while (result.ok && !tails.empty()) {
        const DeviceWork work = std::move(tails.front());
        tails.pop_front();
        --runtime.pending;
        std::deque<DeviceWork> next;  // a tail launch's own come before what its parent has left
        if (work.kind == DeviceWork::Kind::grid)
            result = run_grid(program, *work.kernel, work.config, family, depth, next);
        else
            result = move_bytes(work, kernel);
        tails.insert(tails.begin(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    }
    runtime.pending -= tails.size();
    return result;
}

// Parameters are memory too: cvta.param makes pointers into them.
std::byte* Machine::State::place_params(const Function& kernel, const LaunchConfig& config, int depth) {
    const uint64_t bytes = std::max<uint64_t>(kernel.param_bytes, 4);
    if (params.size() <= static_cast<size_t>(depth)) params.resize(static_cast<size_t>(depth) + 1);
    Parameters& own = params[static_cast<size_t>(depth)];
    if (bytes > own.capacity) {
        if (own.address) memory.release(own.address);
        own.capacity = std::max<uint64_t>(bytes, 4096);
        own.address = memory.allocate(own.capacity, MemoryKind::parameter, "kernel parameters");
    }
    auto* at = reinterpret_cast<std::byte*>(own.address);
    std::memset(at, 0, bytes);
    std::copy_n(config.params.begin(), std::min<size_t>(config.params.size(), kernel.param_bytes), at);
    return at;
}

// A copy or fill that a kernel asked for.
LaunchResult Machine::State::move_bytes(const DeviceWork& work, const Function& asked_by) {
    const auto view = memory.view();
    const bool copies = work.kind == DeviceWork::Kind::copy;
    LaunchResult result;
    auto check = [&](uint64_t address, const char* what, bool writes) {
        const Allocation* allocation = Memory::find(*view, address);
        if (allocation && work.width <= allocation->end() - address && !(writes && allocation->read_only)) return true;
        char head[96];
        std::snprintf(head, sizeof head, "%s of %llu bytes at 0x%llx is ", what,
                      static_cast<unsigned long long>(work.width), static_cast<unsigned long long>(address));
        result.ok = false;
        result.kind = FaultKind::illegal_address;
        result.address = address;
        result.message = std::string("illegal address: ") + (copies ? "memcpy" : "memset") + " asked for by kernel " +
                         ptx::demangled(asked_by.name) + ": " + head + memory.describe(*view, address, work.width);
        return false;
    };
    for (uint64_t row = 0; row < work.height; ++row) {
        const uint64_t to = work.to + row * work.to_pitch, from = work.from + row * work.from_pitch;
        if (!check(to, "write", true) || (copies && !check(from, "read", false))) break;
        if (observer) observer->written(to, work.width);
        if (copies)
            std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), work.width);
        else
            std::memset(reinterpret_cast<void*>(to), work.value, work.width);
    }
    return result;
}

LaunchResult Machine::State::run_grid(const Program& program, const Function& kernel, const LaunchConfig& config,
                                      const Family& family, int depth, std::deque<DeviceWork>& tail) {
    const MachineConfig& machine = family.machine;
    std::byte* const own_params = place_params(kernel, config, depth);
    if (config.cooperative) {
        if (!grid_workspace) grid_workspace = memory.allocate(256, MemoryKind::module, "grid synchronisation");
        std::memset(reinterpret_cast<void*>(grid_workspace), 0, 256);
    }
    if (kernel.allocates) heap.reserve(machine.device_heap_bytes);
    std::optional<GridRuntime> grid_runtime;
    if (kernel.launches) {
        grid_runtime.emplace(runtime, depth);
        runtime.reserve();
    }

    Launch launch;
    launch.program = &program;
    launch.kernel = &kernel;
    launch.config = &config;
    launch.machine = &machine;
    launch.on_sm = std::make_unique<std::atomic<uint32_t>[]>(size_t(machine.sm_count));
    launch.memory = &memory;
    launch.observer = observer;
    launch.printer = &printer;
    launch.heap = &heap;
    launch.params = own_params;
    launch.param_bytes = kernel.param_bytes;
    launch.grid_workspace = config.cooperative ? grid_workspace : 0;
    launch.serial = ++launches;
    launch.shared_begin = shared_begin(program);
    const uint32_t align = kernel.dynamic_align;
    launch.dynamic_base = (launch.shared_begin + kernel.static_shared + align - 1) / align * align;
    launch.shared_bytes = launch.dynamic_base + config.dynamic_shared;
    launch.local_stride =
        kernel.recursive ? std::max(machine.stack_limit, kernel.stack_need) : (kernel.stack_need + 15) / 16 * 16;
    launch.cluster_blocks = static_cast<uint32_t>(std::max<uint64_t>(1, config.cluster.count()));
    launch.cluster_count = config.grid.count() / launch.cluster_blocks;
    launch.started = std::chrono::steady_clock::now();
    launch.has_deadline = family.has_deadline;
    launch.deadline = family.deadline;
    launch.interrupts = family.interrupts;
    if (grid_runtime) {
        launch.runtime = &*grid_runtime;
        grid_runtime->run = [&](const DeviceWork& work) {
            LaunchResult child = work.kind == DeviceWork::Kind::grid
                                     ? run(program, *work.kernel, work.config, family, depth + 1)
                                     : move_bytes(work, kernel);
            if (child.ok) return;
            Fault fault;
            fault.kind = child.kind;
            fault.address = child.address;
            fault.block = 0;
            fault.message = child.message;
            if (work.kind == DeviceWork::Kind::grid)
                fault.message += "; launched by kernel " + ptx::demangled(kernel.name);
            throw FaultError{std::move(fault)};
        };
    }
    const uint64_t warps_per_block = (config.block.count() + warp_size - 1) / warp_size;
    uint64_t per_sm = std::clamp<uint64_t>(
        static_cast<uint64_t>(machine.warps_per_sm) / std::max<uint64_t>(1, warps_per_block), 1, 32);
    launch.resident_limit =
        std::max<uint64_t>(1, per_sm * static_cast<uint64_t>(machine.sm_count) / launch.cluster_blocks);
    if (config.cooperative) launch.resident_limit = launch.cluster_count;

    // Blocks run at once only where that cannot change a result.
    uint64_t workers =
        machine.workers > 0 ? static_cast<uint64_t>(machine.workers) : std::thread::hardware_concurrency();
    workers = from_environment("SOFTCUDA_THREADS", workers);
    if (kernel.ordered || (observer && observer->one_worker())) workers = 1;
    workers = std::clamp<uint64_t>(workers, 1, std::min<uint64_t>(launch.cluster_count, 256));
    if (config.cooperative) workers = 1;  // one worker holds every block

    if (launch.observer) launch.observer->sees(memory.view());
    if (launch.observer) launch.observer->launch_begin(program, kernel, config);
    {
        std::vector<std::unique_ptr<Worker>> crew;
        for (uint64_t i = 0; i < workers; ++i) crew.push_back(std::make_unique<Worker>(launch, static_cast<int>(i)));
        for (auto& worker : crew) worker->alone = workers == 1;
        std::vector<std::thread> threads;
        threads.reserve(workers);
        try {
            for (uint64_t i = 1; i < workers; ++i) threads.emplace_back([&, i] { crew[i]->run(); });
        } catch (const std::exception&) {
            // The system gives no more threads: those there are take the blocks.
        }
        crew[0]->run();
        for (std::thread& thread : threads) thread.join();
    }
    if (grid_runtime) tail.swap(grid_runtime->tail);
    LaunchResult result;
    if (launch.cancelled) {
        Fault fault = launch.take_fault();
        result.ok = false;
        result.kind = fault.kind;
        result.message = fault.message;
        result.address = fault.address;
    }
    if (launch.observer) launch.observer->launch_end(program, kernel, config, result);
    return result;
}

}  // namespace softcuda
