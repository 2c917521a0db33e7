#include "machine/device_runtime.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "machine/block.h"
#include "machine/call_values.h"
#include "ptx/names.h"

namespace softcuda {
namespace {

enum Error : int {  // cudaError_t
    success = 0,
    invalid_value = 1,
    memory_allocation = 2,
    invalid_memcpy_direction = 21,
    launch_max_depth_exceeded = 65,
    invalid_device_function = 98,
    invalid_device = 101,
    unsupported_limit = 215,
    invalid_resource_handle = 400,
    launch_out_of_resources = 701,
};

struct Text {
    int code;
    const char *name, *text;
};
constexpr Text texts[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {912, "cudaErrorInvalidClusterSize", "misconfigured cluster or other invalid cluster size"},
    {-1, "unrecognized error code", "unrecognized error code"},  // last
};
constexpr uint64_t text_bytes = 64;  // each, name and text one after the other

size_t text_index(int code) {
    size_t last = std::size(texts) - 1;
    for (size_t i = 0; i < last; ++i)
        if (texts[i].code == code) return i;
    return last;
}

constexpr uint64_t per_thread = 2, tail_launch = 3, fire_and_forget = 4;  // cudaStream_t; 0: the block's own

struct Extent {  // dim3
    uint32_t x, y, z;
};

// A call by one lane.
class Call {
  public:
    Call(Warp& warp, const Op& op, int lane)
        : grid(*warp.block->launch->runtime), launch(*warp.block->launch), warp_(warp), op_(op), lane_(lane) {}

    template <class T>
    T get(size_t index) const {
        return argument<T>(warp_, op_, index, lane_);
    }
    uint64_t get(size_t index) const { return get<uint64_t>(index); }

    // *pointer = value, as the kernel would have written it.
    template <class T>
    void put(size_t index, T value) {
        put_bytes(index, &value, sizeof value);
    }
    void put_bytes(size_t index, const void* data, size_t bytes) {
        uint64_t address = get(index);
        std::byte* at = host_memory(warp_, lane_, address, bytes);
        if (!at) {
            warp_.fault_address = address;
            warp_.fault(FaultKind::illegal_address, op_, lane_, "the device runtime is to write its result there");
        }
        std::memcpy(at, data, bytes);
    }

    int& last_error() {
        uint64_t thread = warp_.index * warp_size + static_cast<uint64_t>(lane_);
        return grid.last_error[warp_.block->number << 10 | thread];
    }
    const DeviceServices& services() const { return *launch.machine->services; }
    const Function* kernel(uint64_t address) const {  // null: no kernel
        const Program& program = *launch.program;
        const uint64_t index = (address - program.function_base) / 16;
        if (address < program.function_base || address % 16 || index >= program.functions.size()) return nullptr;
        const Function* function = program.functions[index].get();
        return function->is_entry && !function->code.empty() ? function : nullptr;
    }
    // No room for one more to wait.
    bool full() {
        const uint64_t limit = launch.machine->pending_launches;
        if (grid.device.pending < limit) return false;
        say_once(std::to_string(limit) +
                 " launches and copies wait already; cudaLimitDevRuntimePendingLaunchCount allows no more");
        return true;
    }
    void say_once(const std::string& why) {
        if (std::exchange(grid.device.said_why, true)) return;
        services().say("kernel " + ptx::demangled(launch.kernel->name) + ": a launch on the device refused: " + why);
    }

    bool orders(uint64_t stream) const {  // a stream that takes events
        return stream == 0 || stream == per_thread || grid.streams.contains(stream);
    }
    int enqueue(DeviceWork work, uint64_t stream) {
        const bool special = stream == tail_launch || stream == fire_and_forget;
        if (!special && !orders(stream)) return invalid_resource_handle;
        (stream == tail_launch ? grid.tail : grid.pending).push_back(std::move(work));
        ++grid.device.pending;
        return success;
    }

    GridRuntime& grid;
    Launch& launch;

  private:
    Warp& warp_;
    const Op& op_;
    int lane_;
};

// --- launches

// Why `work` cannot be launched, or success.
int refusal(Call& call, DeviceWork& work) {
    if (!work.kernel) return invalid_device_function;
    std::string why;
    int error = call.services().check(*call.launch.program, *work.kernel, work.config, why);
    if (!error && call.grid.depth >= DeviceRuntime::max_depth) {
        error = launch_max_depth_exceeded;
        why = "launches are nested more than " + std::to_string(DeviceRuntime::max_depth) + " deep";
    }
    if (error) call.say_once("kernel " + ptx::demangled(work.kernel->name) + ": " + why);
    return error;
}

uint64_t reserve_buffer(Call& call, DeviceWork work, uint64_t bytes, int& error) {
    if (call.full()) {
        error = launch_out_of_resources;
        return 0;
    }
    bytes = std::max<uint64_t>(bytes, 16);
    const bool too_large = bytes > DeviceRuntime::buffer_bytes;
    uint64_t address = too_large ? 0 : call.grid.device.buffers.allocate(bytes);
    if (!address) {
        error = launch_out_of_resources;
        return 0;
    }
    std::memset(reinterpret_cast<void*>(address), 0, bytes);
    work.width = bytes;
    call.grid.buffers[address] = std::move(work);
    ++call.grid.device.pending;
    return address;
}

// Takes the launch that `address` was given for, with the parameters now in it; false: there is none.
bool take_buffer(Call& call, uint64_t address, DeviceWork& work) {
    auto found = call.grid.buffers.find(address);
    if (found == call.grid.buffers.end()) return false;
    work = std::move(found->second);
    call.grid.buffers.erase(found);
    --call.grid.device.pending;
    const auto* bytes = reinterpret_cast<const std::byte*>(address);
    work.config.params.assign(bytes, bytes + work.width);
    call.grid.device.buffers.release(address);
    return true;
}

void set_shape(DeviceWork& work, Extent grid, Extent block, uint32_t shared) {
    work.config.grid = {grid.x, grid.y, grid.z};
    work.config.block = {block.x, block.y, block.z};
    work.config.dynamic_shared = shared;
}

// (kernel, grid, block, shared) -> where to write the parameters; null: refused, and the launch is left out
uint64_t get_parameter_buffer(Call& call) {
    DeviceWork work;
    work.kernel = call.kernel(call.get(0));
    set_shape(work, call.get<Extent>(1), call.get<Extent>(2), call.get<uint32_t>(3));
    int error = refusal(call, work);
    const uint64_t bytes = work.kernel ? work.kernel->param_bytes : 0;
    const uint64_t address = error ? 0 : reserve_buffer(call, std::move(work), bytes, error);
    if (error) call.last_error() = error;
    return address;
}

int launch_device(Call& call) {  // (buffer, stream)
    DeviceWork work;
    if (!take_buffer(call, call.get(0), work) || !work.kernel) return invalid_value;
    return call.enqueue(std::move(work), call.get(1));
}

uint64_t get_plain_buffer(Call& call) {  // (alignment, size): the kernel is named at the launch
    int error = success;
    uint64_t address = reserve_buffer(call, {}, call.get(1), error);
    if (error) call.last_error() = error;
    return address;
}

int launch_device_with_shape(Call& call) {  // (kernel, buffer, grid, block, shared, stream)
    DeviceWork work;
    if (!take_buffer(call, call.get(1), work)) return invalid_value;
    work.kernel = call.kernel(call.get(0));
    set_shape(work, call.get<Extent>(2), call.get<Extent>(3), call.get<uint32_t>(4));
    if (int error = refusal(call, work)) return error;
    return call.enqueue(std::move(work), call.get(5));
}

// --- streams and events: a grid's own.  The queue keeps every order that they could ask for.

int stream_create(Call& call) {
    if (call.get<uint32_t>(1) != 1) return invalid_value;  // cudaStreamNonBlocking is the only kind
    uint64_t handle = call.grid.next_handle++;
    call.grid.streams.insert(handle);
    call.put(0, handle);
    return success;
}

int stream_destroy(Call& call) { return call.grid.streams.erase(call.get(0)) ? success : invalid_resource_handle; }

int stream_wait(Call& call) {  // (stream, event, flags)
    bool known = call.orders(call.get(0)) && call.grid.events.contains(call.get(1));
    return known ? success : invalid_resource_handle;
}

int event_create(Call& call) {
    if (call.get<uint32_t>(1) != 2) return invalid_value;  // cudaEventDisableTiming is the only kind
    uint64_t handle = call.grid.next_handle++;
    call.grid.events.insert(handle);
    call.put(0, handle);
    return success;
}

int event_record(Call& call) {  // (event, stream)
    bool known = call.grid.events.contains(call.get(0)) && call.orders(call.get(1));
    return known ? success : invalid_resource_handle;
}

int event_destroy(Call& call) { return call.grid.events.erase(call.get(0)) ? success : invalid_resource_handle; }

// --- memory

int device_malloc(Call& call) {
    uint64_t address = call.launch.heap->allocate(call.get(1));
    call.put(0, address);
    return address ? success : memory_allocation;
}

int device_free(Call& call) {
    uint64_t address = call.get(0);
    return address == 0 || call.launch.heap->release(address) ? success : invalid_value;
}

bool is_private(uint64_t address) {  // shared or local
    return (address >= shared_window && address < shared_window_end) ||
           (address >= local_window && address < local_window_end);
}

int copy(Call& call, DeviceWork work, uint32_t kind, uint64_t stream) {
    if (kind != 3 && kind != 4) return invalid_memcpy_direction;  // from device to device, or as the addresses say
    if (is_private(work.to) || is_private(work.from)) return invalid_value;
    if (work.width == 0 || work.height == 0) return success;
    if (call.full()) return launch_out_of_resources;
    work.kind = DeviceWork::Kind::copy;
    return call.enqueue(std::move(work), stream);
}

int fill(Call& call, DeviceWork work, uint64_t stream) {
    if (is_private(work.to)) return invalid_value;
    if (work.width == 0 || work.height == 0) return success;
    if (call.full()) return launch_out_of_resources;
    work.kind = DeviceWork::Kind::fill;
    return call.enqueue(std::move(work), stream);
}

int memcpy_async(Call& call) {  // (to, from, bytes, kind, stream)
    DeviceWork work;
    work.to = call.get(0);
    work.from = call.get(1);
    work.width = call.get(2);
    return copy(call, std::move(work), call.get<uint32_t>(3), call.get(4));
}

int memcpy_2d_async(Call& call) {  // (to, pitch, from, pitch, width, height, kind, stream)
    DeviceWork work;
    work.to = call.get(0);
    work.to_pitch = call.get(1);
    work.from = call.get(2);
    work.from_pitch = call.get(3);
    work.width = call.get(4);
    work.height = call.get(5);
    if (work.width > work.to_pitch || work.width > work.from_pitch) return invalid_value;
    return copy(call, std::move(work), call.get<uint32_t>(6), call.get(7));
}

int memset_async(Call& call) {  // (to, value, bytes, stream)
    DeviceWork work;
    work.to = call.get(0);
    work.value = static_cast<uint8_t>(call.get<uint32_t>(1));
    work.width = call.get(2);
    return fill(call, std::move(work), call.get(3));
}

int memset_2d_async(Call& call) {  // (to, pitch, value, width, height, stream)
    DeviceWork work;
    work.to = call.get(0);
    work.to_pitch = call.get(1);
    work.value = static_cast<uint8_t>(call.get<uint32_t>(2));
    work.width = call.get(3);
    work.height = call.get(4);
    if (work.width > work.to_pitch) return invalid_value;
    return fill(call, std::move(work), call.get(5));
}

// --- questions

int get_attribute(Call& call) {  // (value, which, device)
    if (call.get<int32_t>(2) != 0) return invalid_device;
    int value = 0;
    if (!call.services().attribute(call.get<int32_t>(1), value)) return invalid_value;
    call.put<int32_t>(0, value);
    return success;
}

int get_limit(Call& call) {  // (value, which)
    switch (call.get<uint32_t>(1)) {
        case 2: call.put<uint64_t>(0, call.launch.machine->device_heap_bytes); return success;
        case 4: call.put<uint64_t>(0, call.launch.machine->pending_launches); return success;
        default: return unsupported_limit;
    }
}

int get_function_attributes(Call& call) {  // (attributes, kernel)
    const Function* kernel = call.kernel(call.get(1));
    if (!kernel) return invalid_device_function;
    std::vector<std::byte> bytes = call.services().attributes(*call.launch.program, *kernel);
    call.put_bytes(0, bytes.data(), bytes.size());
    return success;
}

int get_occupancy(Call& call) {  // (blocks, kernel, threads, shared[, flags])
    const Function* kernel = call.kernel(call.get(1));
    if (!kernel) return invalid_device_function;
    const int threads = call.get<int32_t>(2);
    if (threads <= 0) return invalid_value;
    call.put<int32_t>(0, call.services().blocks_per_sm(*call.launch.program, *kernel, threads, call.get(3)));
    return success;
}

template <int value>
int put_number(Call& call) {
    call.put<int32_t>(0, value);
    return success;
}

int take_last_error(Call& call) { return std::exchange(call.last_error(), success); }
int peek_last_error(Call& call) { return call.last_error(); }
uint64_t error_name(Call& call) { return call.grid.device.error_name(call.get<int32_t>(0)); }
uint64_t error_text(Call& call) { return call.grid.device.error_text(call.get<int32_t>(0)); }

// --- as operations

template <int (*function)(Call&)>
void exec_checked(Warp& warp, const Op& op, uint32_t lanes) {  // what fails is the thread's last error
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        Call call(warp, op, lane);
        int error = function(call);
        if (error) call.last_error() = error;
        give_back<int32_t>(warp, op, lane, error);
    }
}

template <auto function>
void exec_plain(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        Call call(warp, op, lane);
        give_back(warp, op, lane, function(call));
    }
}

constexpr std::string_view prefix = "__cudaCDP2";

const std::unordered_map<std::string_view, Exec>& table() {
    static const std::unordered_map<std::string_view, Exec> functions = {
        {"GetParameterBufferV2", exec_plain<get_parameter_buffer>},
        {"LaunchDeviceV2", exec_checked<launch_device>},
        {"GetParameterBuffer", exec_plain<get_plain_buffer>},
        {"LaunchDevice", exec_checked<launch_device_with_shape>},
        {"StreamCreateWithFlags", exec_checked<stream_create>},
        {"StreamDestroy", exec_checked<stream_destroy>},
        {"StreamWaitEvent", exec_checked<stream_wait>},
        {"EventCreateWithFlags", exec_checked<event_create>},
        {"EventRecord", exec_checked<event_record>},
        {"EventRecordWithFlags", exec_checked<event_record>},
        {"EventDestroy", exec_checked<event_destroy>},
        {"Malloc", exec_checked<device_malloc>},
        {"Free", exec_checked<device_free>},
        {"MemcpyAsync", exec_checked<memcpy_async>},
        {"Memcpy2DAsync", exec_checked<memcpy_2d_async>},
        {"MemsetAsync", exec_checked<memset_async>},
        {"Memset2DAsync", exec_checked<memset_2d_async>},
        {"DeviceGetAttribute", exec_checked<get_attribute>},
        {"DeviceGetLimit", exec_checked<get_limit>},
        {"DeviceGetCacheConfig", exec_checked<put_number<0>>},
        {"DeviceGetSharedMemConfig", exec_checked<put_number<1>>},
        {"FuncGetAttributes", exec_checked<get_function_attributes>},
        {"OccupancyMaxActiveBlocksPerMultiprocessor", exec_checked<get_occupancy>},
        {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", exec_checked<get_occupancy>},
        {"GetDevice", exec_checked<put_number<0>>},
        {"GetDeviceCount", exec_checked<put_number<1>>},
        {"RuntimeGetVersion", exec_checked<put_number<13000>>},
        {"GetLastError", exec_plain<take_last_error>},
        {"PeekAtLastError", exec_plain<peek_last_error>},
        {"GetErrorName", exec_plain<error_name>},
        {"GetErrorString", exec_plain<error_text>},
    };
    return functions;
}

}  // namespace

bool in_device_runtime(const std::string& name) { return name.starts_with(prefix); }

Exec device_runtime_builtin(const std::string& name) {
    if (!in_device_runtime(name)) return nullptr;
    std::string_view rest = std::string_view(name).substr(prefix.size());
    if (rest.ends_with("_ptsz")) rest.remove_suffix(5);  // with streams a thread: here each block has its own anyway
    auto found = table().find(rest);
    return found == table().end() ? nullptr : found->second;
}

DeviceRuntime::~DeviceRuntime() {
    if (texts_) memory_.release(texts_);
}

void DeviceRuntime::reserve() {
    buffers.reserve(buffer_bytes);
    if (texts_) return;
    texts_ = memory_.allocate(std::size(texts) * 2 * text_bytes, MemoryKind::module, "texts of the device runtime");
    for (size_t i = 0; i < std::size(texts); ++i) {
        char* at = reinterpret_cast<char*>(texts_ + i * 2 * text_bytes);
        std::strncpy(at, texts[i].name, text_bytes);
        std::strncpy(at + text_bytes, texts[i].text, text_bytes);
    }
}

uint64_t DeviceRuntime::error_name(int error) const { return texts_ + text_index(error) * 2 * text_bytes; }
uint64_t DeviceRuntime::error_text(int error) const { return error_name(error) + text_bytes; }

GridRuntime::~GridRuntime() {  // what was begun and never launched
    for (const auto& [address, _] : buffers) device.buffers.release(address);
    device.pending -= buffers.size() + pending.size() + tail.size();
}

void GridRuntime::run_pending() {
    while (!pending.empty()) {
        DeviceWork next = std::move(pending.front());
        pending.pop_front();
        --device.pending;
        run(next);
    }
}

}  // namespace softcuda
