// A byte stream as a sequence of driver calls, with handles and pointers that are valid, stale, null or garbage.
// Host memory that a call may read or write is really there: what crashes with NVIDIA's driver is not asked for.
#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr size_t device_bytes = 16 << 20;
constexpr size_t host_bytes = 2 * device_bytes;  // no copy that the device allows is longer than its memory

constexpr char source[] = R"(.version 9.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter = 1;
.visible .entry store(.param .u64 out, .param .u32 value)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
.visible .entry nothing()
{
    bar.sync 0;
    ret;
}
)";

// Where arguments come from.  The stream ends in zeros, so that every input is a whole program.
class Input {
  public:
    Input(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
    bool empty() const { return data_ == end_; }
    uint8_t byte() { return empty() ? 0 : *data_++; }
    uint32_t word() {
        uint32_t value = 0;
        for (int i = 0; i < 4; ++i) value = value << 8 | byte();
        return value;
    }
    size_t size() {
        switch (byte() % 8) {
            case 0: return 0;
            case 1: return 1;
            case 2: return byte();
            case 3: return byte() * 4u;
            case 4: return 256u * byte();
            case 5: return word();
            case 6: return SIZE_MAX - byte();
            default: return size_t{1} << byte() % 64;
        }
    }
    unsigned count() {
        switch (byte() % 4) {
            case 0: return byte() % 4;
            case 1: return byte();
            case 2: return word();
            default: return 1;
        }
    }

  private:
    const uint8_t *data_, *end_;
};

// Handles of one kind, in use and freed ones alike.
template <class Handle>
class Pool {
  public:
    Handle pick(Input& input) const {
        const uint8_t choice = input.byte();
        if (choice == 0) return Handle{};
        if (choice == 1) return (Handle)(uintptr_t)0xdead'beef'0000;
        if (choice < 5) return (Handle)(uintptr_t)choice;  // CU_STREAM_LEGACY among others
        return all_.empty() ? Handle{} : all_[choice % all_.size()];
    }
    void add(Handle handle) {
        if (handle && all_.size() < 64) all_.push_back(handle);
    }
    const std::vector<Handle>& all() const { return all_; }

  private:
    std::vector<Handle> all_;
};

struct State {
    Pool<CUcontext> contexts;
    Pool<CUmodule> modules;
    Pool<CUfunction> functions;
    Pool<CUstream> streams;
    Pool<CUevent> events;
    Pool<CUarray> arrays;
    Pool<CUdeviceptr> memory;
    Pool<void*> pinned;
    Pool<CUlinkState> links;
};

std::byte* host() {
    static auto* bytes = static_cast<std::byte*>(std::calloc(host_bytes, 1));
    return bytes;
}

CUdeviceptr address(State& state, Input& input) {
    CUdeviceptr base = state.memory.pick(input);
    switch (input.byte() % 8) {
        case 0: return base + input.byte();
        case 1: return base - input.byte();
        case 2: return base + 4 * input.byte();
        default: return base;
    }
}

// A device's, of memory that is there or gone.  Not quite any number: a wild one is the host's, and read.
CUdeviceptr own_address(State& state, Input& input) {
    const auto& all = state.memory.all();
    const uint8_t choice = input.byte(), offset = input.byte();
    return all.empty() ? offset : all[choice % all.size()] + offset;
}

// Null, where `device_bytes` may be read and written, or a device's.
void* host_pointer(State& state, Input& input) {
    const uint8_t choice = input.byte();
    if (choice == 0) return nullptr;
    if (choice < 32) return (void*)own_address(state, input);
    return host() + choice;
}

CUdeviceptr either(State& state, Input& input) {
    return input.byte() % 4 ? own_address(state, input) : CUdeviceptr(host() + input.byte());
}

template <class Out>
void made(Pool<Out>& pool, Input& input, const std::function<void(Out*)>& call) {
    Out out{};
    call(input.byte() == 0 ? nullptr : &out);
    pool.add(out);
}

template <class Value>
void asked(Input& input, const std::function<void(Value*)>& call) {
    Value value{};
    call(input.byte() == 0 ? nullptr : &value);
}

CUmemorytype memory_type(Input& input) { return CUmemorytype(input.byte() % 6); }

CUDA_MEMCPY3D box(State& state, Input& input) {
    CUDA_MEMCPY3D d{};
    d.srcXInBytes = input.byte();
    d.srcY = input.byte() % 8;
    d.srcZ = input.byte() % 4;
    d.srcMemoryType = memory_type(input);
    d.srcHost = host_pointer(state, input);
    d.srcDevice = address(state, input);
    d.srcArray = state.arrays.pick(input);
    d.srcPitch = input.byte() * 4u;
    d.srcHeight = input.byte();
    d.dstXInBytes = input.byte();
    d.dstY = input.byte() % 8;
    d.dstZ = input.byte() % 4;
    d.dstMemoryType = memory_type(input);
    d.dstHost = host_pointer(state, input);
    d.dstDevice = address(state, input);
    d.dstArray = state.arrays.pick(input);
    d.dstPitch = input.byte() * 4u;
    d.dstHeight = input.byte();
    d.WidthInBytes = input.size();
    d.Height = input.size();
    d.Depth = input.size();
    // The host's side must fit into what is there, whatever the device's side says.
    if (d.srcMemoryType == CU_MEMORYTYPE_UNIFIED) d.srcDevice = either(state, input);
    if (d.dstMemoryType == CU_MEMORYTYPE_UNIFIED) d.dstDevice = either(state, input);
    auto may_be_host = [](CUmemorytype type) { return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED; };
    const bool on_host = may_be_host(d.srcMemoryType) || may_be_host(d.dstMemoryType);
    if (on_host && (d.WidthInBytes > 1024 || d.Height > 64 || d.Depth > 8))
        d.WidthInBytes %= 1024, d.Height %= 64, d.Depth %= 8;
    return d;
}

CUDA_MEMCPY2D plane(State& state, Input& input) {
    const CUDA_MEMCPY3D d = box(state, input);
    return {d.srcXInBytes, d.srcY,        d.srcMemoryType, d.srcHost,       d.srcDevice, d.srcArray,
            d.srcPitch,    d.dstXInBytes, d.dstY,          d.dstMemoryType, d.dstHost,   d.dstDevice,
            d.dstArray,    d.dstPitch,    d.WidthInBytes,  d.Height};
}

void launch(State& s, Input& in) {
    CUfunction function = s.functions.pick(in);
    CUdeviceptr out = address(s, in);
    unsigned value = in.word();
    void* params[2] = {&out, in.byte() ? &value : nullptr};
    size_t bytes = in.byte();
    std::array<std::byte, 256> buffer{};
    std::memcpy(buffer.data(), &out, sizeof out);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER,
                     in.byte() ? buffer.data() : nullptr,
                     CU_LAUNCH_PARAM_BUFFER_SIZE,
                     in.byte() ? &bytes : nullptr,
                     in.byte() % 4 ? CU_LAUNCH_PARAM_END : (void*)77,
                     nullptr,
                     CU_LAUNCH_PARAM_END};
    unsigned grid[3] = {in.count(), in.count(), in.count()}, block[3] = {in.count(), in.count(), in.count()};
    if (uint64_t(grid[0]) * grid[1] * grid[2] > 1000) grid[0] %= 4, grid[1] %= 4, grid[2] %= 4;  // time, not safety
    const unsigned shared = unsigned(in.size());
    CUstream stream = s.streams.pick(in);
    const bool packed = in.byte() % 2, both = in.byte() == 0;
    void** with_params = packed && !both ? nullptr : params;
    void** with_extra = packed || both ? extra : nullptr;
    switch (in.byte() % 4) {
        case 0:
            cuLaunchCooperativeKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream,
                                      params);
            break;
        case 1: {
            CUlaunchAttribute attribute{};
            attribute.id = CUlaunchAttributeID(in.byte() % 16);
            attribute.value.clusterDim = {in.count(), in.count(), in.count()};
            CUlaunchConfig config{grid[0],       grid[1],  grid[2],
                                  block[0],      block[1], block[2],
                                  shared,        stream,   in.byte() % 8 ? &attribute : nullptr,
                                  in.byte() % 2u};
            cuLaunchKernelEx(in.byte() ? &config : nullptr, function, with_params, with_extra);
            break;
        }
        default:
            cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream,
                           with_params, with_extra);
    }
}

using Call = void (*)(State&, Input&);
constexpr Call calls[] = {
    // new ones last: the corpus counts them
    // contexts
    [](State& s, Input& in) {
        unsigned flags = in.byte();
        int ordinal = in.byte() % 4 ? 0 : int(in.word());
        made<CUcontext>(s.contexts, in, [&](auto* out) { cuCtxCreate(out, nullptr, flags, ordinal); });
    },
    [](State& s, Input& in) { cuCtxDestroy(s.contexts.pick(in)); },
    [](State& s, Input& in) { cuCtxPushCurrent(s.contexts.pick(in)); },
    [](State&, Input& in) { asked<CUcontext>(in, [](auto* out) { cuCtxPopCurrent(out); }); },
    [](State& s, Input& in) { cuCtxSetCurrent(s.contexts.pick(in)); },
    [](State&, Input& in) { asked<CUcontext>(in, [](auto* out) { cuCtxGetCurrent(out); }); },
    [](State& s, Input& in) {
        CUcontext context = s.contexts.pick(in);
        asked<unsigned>(in, [&](auto* out) { cuCtxGetApiVersion(context, out); });
    },
    [](State&, Input&) { cuCtxSynchronize(); },
    [](State&, Input& in) {
        auto limit = CUlimit(in.byte() % 12);
        size_t value = in.size();
        cuCtxSetLimit(limit, limit == CU_LIMIT_MALLOC_HEAP_SIZE ? value % device_bytes : value);
    },
    [](State&, Input& in) {
        auto limit = CUlimit(in.byte() % 12);
        asked<size_t>(in, [&](auto* out) { cuCtxGetLimit(out, limit); });
    },
    [](State& s, Input& in) { made<CUcontext>(s.contexts, in, [](auto* out) { cuDevicePrimaryCtxRetain(out, 0); }); },
    [](State&, Input&) { cuDevicePrimaryCtxRelease(0); },
    [](State&, Input&) { cuDevicePrimaryCtxReset(0); },
    [](State& s, Input& in) { cuCtxDetach(s.contexts.pick(in)); },
    [](State& s, Input& in) {
        CUcontext context = s.contexts.pick(in);
        in.byte() % 2 ? cuCtxEnablePeerAccess(context, in.byte()) : cuCtxDisablePeerAccess(context);
    },
    // memory
    [](State& s, Input& in) {
        size_t bytes = in.size();
        made<CUdeviceptr>(s.memory, in, [&](auto* out) { cuMemAlloc(out, bytes); });
    },
    [](State& s, Input& in) { cuMemFree(address(s, in)); },
    [](State& s, Input& in) {
        size_t bytes = in.size(), pitch = 0, rows = in.size();
        unsigned element = in.byte() % 20;
        bool ask = in.byte();
        made<CUdeviceptr>(s.memory, in,
                          [&](auto* out) { cuMemAllocPitch(out, ask ? &pitch : nullptr, bytes, rows, element); });
    },
    [](State& s, Input& in) {
        size_t bytes = in.size();
        unsigned flags = in.byte();
        made<CUdeviceptr>(s.memory, in, [&](auto* out) { cuMemAllocManaged(out, bytes, flags); });
    },
    [](State& s, Input& in) {
        size_t bytes = in.size();
        CUstream stream = s.streams.pick(in);
        made<CUdeviceptr>(s.memory, in, [&](auto* out) { cuMemAllocAsync(out, bytes, stream); });
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        cuMemFreeAsync(at, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        size_t bytes = in.size() % host_bytes;
        unsigned flags = in.byte();
        made<void*>(s.pinned, in, [&](auto* out) { cuMemHostAlloc(out, bytes, flags); });
    },
    [](State& s, Input& in) { cuMemFreeHost(s.pinned.pick(in)); },
    [](State&, Input& in) {
        void* at = in.byte() ? host() + 4096 * (in.byte() % 16) : nullptr;
        size_t bytes = in.size();
        cuMemHostRegister(at, bytes > device_bytes ? SIZE_MAX : bytes, in.byte());
    },
    [](State&, Input& in) { cuMemHostUnregister(in.byte() ? host() + 4096 * (in.byte() % 16) : nullptr); },
    [](State& s, Input& in) {
        void* at = s.pinned.pick(in);
        unsigned flags = in.byte() % 2;
        made<CUdeviceptr>(s.memory, in, [&](auto* out) { cuMemHostGetDevicePointer(out, at, flags); });
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in), base;
        size_t bytes;
        cuMemGetAddressRange(in.byte() ? &base : nullptr, in.byte() ? &bytes : nullptr, at);
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        auto attribute = CUpointer_attribute(in.byte());
        asked<std::array<std::byte, 64>>(in, [&](auto* out) { cuPointerGetAttribute(out, attribute, at); });
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        CUpointer_attribute attributes[2] = {CUpointer_attribute(in.byte()), CUpointer_attribute(in.byte())};
        std::array<std::byte, 64> first, second;
        void* data[2] = {&first, in.byte() ? &second : nullptr};
        cuPointerGetAttributes(in.byte() % 3, in.byte() ? attributes : nullptr, in.byte() ? data : nullptr, at);
    },
    [](State&, Input& in) {
        size_t free, total;
        cuMemGetInfo(in.byte() ? &free : nullptr, in.byte() ? &total : nullptr);
    },
    // copies and fills
    [](State& s, Input& in) {
        CUdeviceptr to = address(s, in);
        void* from = host_pointer(s, in);
        cuMemcpyHtoD(to, from, in.size());
    },
    [](State& s, Input& in) {
        CUdeviceptr from = address(s, in);
        void* to = host_pointer(s, in);
        cuMemcpyDtoH(to, from, in.size());
    },
    [](State& s, Input& in) {
        CUdeviceptr from = address(s, in), to = address(s, in);
        cuMemcpyDtoD(to, from, in.size());
    },
    [](State& s, Input& in) {
        CUdeviceptr to = address(s, in);
        void* from = host_pointer(s, in);
        size_t bytes = in.size();
        cuMemcpyHtoDAsync(to, from, bytes, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        CUdeviceptr from = address(s, in);
        void* to = host_pointer(s, in);
        size_t bytes = in.size();
        cuMemcpyDtoHAsync(to, from, bytes, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        CUdeviceptr from = address(s, in), to = address(s, in);
        CUcontext here = s.contexts.pick(in), there = s.contexts.pick(in);
        cuMemcpyPeer(to, there, from, here, in.size());
    },
    [](State& s, Input& in) {
        CUDA_MEMCPY2D copy = plane(s, in);
        in.byte() % 2 ? cuMemcpy2D(in.byte() ? &copy : nullptr) : cuMemcpy2DAsync(&copy, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        CUDA_MEMCPY3D copy = box(s, in);
        in.byte() % 2 ? cuMemcpy3D(in.byte() ? &copy : nullptr) : cuMemcpy3DAsync(&copy, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        size_t count = in.size();
        switch (in.byte() % 3) {
            case 0: cuMemsetD8(at, in.byte(), count); break;
            case 1: cuMemsetD16(at, in.byte(), count); break;
            default: cuMemsetD32(at, in.byte(), count);
        }
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        size_t pitch = in.size(), width = in.size(), rows = in.size();
        CUstream stream = s.streams.pick(in);
        switch (in.byte() % 3) {
            case 0: cuMemsetD2D8(at, pitch, in.byte(), width, rows); break;
            case 1: cuMemsetD2D16Async(at, pitch, in.byte(), width, rows, stream); break;
            default: cuMemsetD2D32Async(at, pitch, in.byte(), width, rows, stream);
        }
    },
    // arrays
    [](State& s, Input& in) {
        CUDA_ARRAY3D_DESCRIPTOR shape{in.size(),      in.size(),     in.size(), CUarray_format(in.byte() % 36),
                                      in.byte() % 6u, in.byte() % 8u};
        bool given = in.byte();
        made<CUarray>(s.arrays, in, [&](auto* out) { cuArray3DCreate(out, given ? &shape : nullptr); });
    },
    [](State& s, Input& in) { cuArrayDestroy(s.arrays.pick(in)); },
    [](State& s, Input& in) {
        CUarray array = s.arrays.pick(in);
        asked<CUDA_ARRAY3D_DESCRIPTOR>(in, [&](auto* out) { cuArray3DGetDescriptor(out, array); });
    },
    [](State& s, Input& in) {
        CUarray array = s.arrays.pick(in);
        size_t offset = in.size(), bytes = in.size();
        switch (in.byte() % 4) {
            case 0: cuMemcpyHtoA(array, offset, host_pointer(s, in), bytes % device_bytes); break;
            case 1: cuMemcpyAtoH(host_pointer(s, in), array, offset, bytes % device_bytes); break;
            case 2: cuMemcpyDtoA(array, offset, address(s, in), bytes); break;
            default: cuMemcpyAtoD(address(s, in), array, offset, bytes);
        }
    },
    // streams and events
    [](State& s, Input& in) {
        unsigned flags = in.byte() % 3;
        int priority = int(in.byte()) - 128;
        made<CUstream>(s.streams, in, [&](auto* out) { cuStreamCreateWithPriority(out, flags, priority); });
    },
    [](State& s, Input& in) { cuStreamDestroy(s.streams.pick(in)); },
    [](State& s, Input& in) { cuStreamSynchronize(s.streams.pick(in)); },
    [](State& s, Input& in) { cuStreamQuery(s.streams.pick(in)); },
    [](State& s, Input& in) {
        CUstream stream = s.streams.pick(in);
        asked<CUcontext>(in, [&](auto* out) { cuStreamGetCtx(stream, out); });
        asked<unsigned>(in, [&](auto* out) { cuStreamGetFlags(stream, out); });
        asked<int>(in, [&](auto* out) { cuStreamGetPriority(stream, out); });
    },
    [](State& s, Input& in) {
        CUstream stream = s.streams.pick(in);
        cuStreamWaitEvent(stream, s.events.pick(in), in.byte() % 3);
    },
    [](State& s, Input& in) {
        unsigned flags = in.byte() % 8;
        made<CUevent>(s.events, in, [&](auto* out) { cuEventCreate(out, flags); });
    },
    [](State& s, Input& in) { cuEventDestroy(s.events.pick(in)); },
    [](State& s, Input& in) {
        CUevent event = s.events.pick(in);
        cuEventRecord(event, s.streams.pick(in));
    },
    [](State& s, Input& in) { cuEventSynchronize(s.events.pick(in)); },
    [](State& s, Input& in) { cuEventQuery(s.events.pick(in)); },
    [](State& s, Input& in) {
        CUevent from = s.events.pick(in), to = s.events.pick(in);
        asked<float>(in, [&](auto* out) { cuEventElapsedTime(out, from, to); });
    },
    [](State& s, Input& in) {
        CUstream stream = s.streams.pick(in);
        cuLaunchHostFunc(stream, in.byte() ? [](void*) { cuCtxSynchronize(); } : CUhostFn(nullptr), nullptr);
    },
    // modules, kernels, launches
    [](State& s, Input& in) {
        bool given = in.byte();
        made<CUmodule>(s.modules, in, [&](auto* out) { cuModuleLoadData(out, given ? source : nullptr); });
    },
    [](State& s, Input& in) { cuModuleUnload(s.modules.pick(in)); },
    [](State& s, Input& in) {
        CUmodule module = s.modules.pick(in);
        const char* names[] = {nullptr, "store", "nothing", "counter", ""};
        const char* name = names[in.byte() % 5];
        made<CUfunction>(s.functions, in, [&](auto* out) { cuModuleGetFunction(out, module, name); });
    },
    [](State& s, Input& in) {
        CUmodule module = s.modules.pick(in);
        size_t bytes;
        bool ask = in.byte();
        const char* name = in.byte() ? "counter" : nullptr;
        made<CUdeviceptr>(s.memory, in,
                          [&](auto* out) { cuModuleGetGlobal(out, ask ? &bytes : nullptr, module, name); });
    },
    [](State& s, Input& in) {
        CUfunction function = s.functions.pick(in);
        auto attribute = CUfunction_attribute(in.byte() % 20);
        asked<int>(in, [&](auto* out) { cuFuncGetAttribute(out, attribute, function); });
        if (in.byte() % 2) cuFuncSetAttribute(function, attribute, int(in.size()));
    },
    [](State& s, Input& in) {
        CUfunction function = s.functions.pick(in);
        size_t index = in.size(), offset, bytes;
        cuFuncGetParamInfo(function, index, in.byte() ? &offset : nullptr, in.byte() ? &bytes : nullptr);
        asked<CUmodule>(in, [&](auto* out) { cuFuncGetModule(out, function); });
        asked<const char*>(in, [&](auto* out) { cuFuncGetName(out, function); });
    },
    [](State& s, Input& in) {
        CUfunction function = s.functions.pick(in);
        int threads = int(in.count());
        size_t shared = in.size();
        asked<int>(in, [&](auto* out) { cuOccupancyMaxActiveBlocksPerMultiprocessor(out, function, threads, shared); });
        int grid, block;
        cuOccupancyMaxPotentialBlockSize(in.byte() ? &grid : nullptr, in.byte() ? &block : nullptr, function, nullptr,
                                         shared, int(in.count()));
        asked<size_t>(
            in, [&](auto* out) { cuOccupancyAvailableDynamicSMemPerBlock(out, function, int(in.count()), threads); });
    },
    launch,
    [](State& s, Input& in) {  // the interface before CUDA 4
        CUfunction function = s.functions.pick(in);
        cuFuncSetBlockShape(function, int(in.count()), int(in.count()), int(in.count()));
        cuFuncSetSharedSize(function, unsigned(in.size()));
        std::array<std::byte, 256> data{};
        cuParamSetv(function, int(in.count()), in.byte() ? data.data() : nullptr, in.byte());
        cuParamSetSize(function, unsigned(in.size()));
        cuLaunchGrid(function, int(in.byte() % 8), int(in.byte() % 8));
    },
    [](State& s, Input& in) {
        made<CUlinkState>(s.links, in, [](auto* out) { cuLinkCreate(0, nullptr, nullptr, out); });
    },
    [](State& s, Input& in) {
        CUlinkState link = s.links.pick(in);
        cuLinkAddData(link, CUjitInputType(in.byte() % 8), in.byte() ? const_cast<char*>(source) : nullptr,
                      in.byte() % 2 ? sizeof source : 0, nullptr, 0, nullptr, nullptr);
    },
    [](State& s, Input& in) {
        CUlinkState link = s.links.pick(in);
        size_t bytes;
        asked<void*>(in, [&](auto* out) { cuLinkComplete(link, out, &bytes); });
        if (in.byte() % 2) cuLinkDestroy(link);
    },
    // the device, errors, entry points
    [](State&, Input& in) {
        auto attribute = CUdevice_attribute(in.byte());
        int ordinal = int(in.count());
        asked<int>(in, [&](auto* out) { cuDeviceGetAttribute(out, attribute, ordinal); });
        asked<CUdevice>(in, [&](auto* out) { cuDeviceGet(out, ordinal); });
        char name[64];
        cuDeviceGetName(in.byte() ? name : nullptr, int(in.byte() % 65), ordinal);
        cuDeviceGetPCIBusId(in.byte() ? name : nullptr, int(in.byte() % 65), ordinal);
    },
    [](State&, Input& in) {
        auto code = CUresult(in.word());
        asked<const char*>(in, [&](auto* out) { cuGetErrorName(code, out); });
        asked<const char*>(in, [&](auto* out) { cuGetErrorString(code, out); });
    },
    [](State&, Input& in) {
        const char* names[] = {nullptr, "", "cuMemAlloc", "cuCtxCreate", "cuNothing"};
        void* function;
        cuGetProcAddress(names[in.byte() % 5], in.byte() ? &function : nullptr, int(in.word()), in.byte(), nullptr);
    },
    // addresses of either side, and streams that write
    [](State& s, Input& in) {
        CUdeviceptr from = either(s, in), to = either(s, in);
        size_t bytes = in.size() % device_bytes;
        in.byte() % 2 ? cuMemcpy(to, from, bytes) : cuMemcpyAsync(to, from, bytes, s.streams.pick(in));
    },
    [](State& s, Input& in) {
        CUdeviceptr at = address(s, in);
        CUstream stream = s.streams.pick(in);
        switch (in.byte() % 4) {  // none that waits for a value: nobody would write it
            case 0: cuStreamWriteValue32(stream, at, in.word(), in.byte() % 3); break;
            case 1: cuStreamWriteValue64(stream, at, in.word(), in.byte() % 3); break;
            case 2: cuMemAdvise(at, in.size(), CUmem_advise(in.byte() % 8), {CU_MEM_LOCATION_TYPE_DEVICE, 0}); break;
            default: cuMemPrefetchAsync(at, in.size(), {CUmemLocationType(in.byte() % 6), in.byte()}, 0, stream);
        }
    },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const bool started = [] {
        setenv("SOFTCUDA_QUIET", "1", 1);
        setenv("SOFTCUDA_MEMORY", "16M", 1);
        setenv("SOFTCUDA_TIMEOUT", "1", 1);
        if (cuInit(0)) std::abort();
        return true;
    }();
    (void)started;
    State state;
    Input input(data, size);
    // Most programs begin with a context, a module and memory; so do these.
    CUcontext first = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr memory = 0;
    if (cuCtxCreate(&first, nullptr, 0, 0)) std::abort();
    state.contexts.add(first);
    if (cuModuleLoadData(&module, source)) std::abort();
    state.modules.add(module);
    for (const char* name : {"store", "nothing"}) {
        CUfunction function = nullptr;
        cuModuleGetFunction(&function, module, name);
        state.functions.add(function);
    }
    cuMemAlloc(&memory, 1024);
    state.memory.add(memory);

    for (int left = 64; left > 0 && !input.empty(); --left) calls[input.byte() % std::size(calls)](state, input);

    // Whatever has happened, the next input finds a device that works.
    for (int i = 0; i < 16; ++i) cuMemHostUnregister(host() + 4096 * i);
    for (CUcontext context : state.contexts.all()) cuCtxDestroy(context);
    for (CUcontext popped = nullptr; !cuCtxPopCurrent(&popped);) {
    }
    cuDevicePrimaryCtxReset(0);
    return 0;
}
