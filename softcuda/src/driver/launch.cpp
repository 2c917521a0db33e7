// Launches: everything a GPU would refuse is refused here, with its error code; the machine gets what can run.
#include <algorithm>
#include <cstring>

#include "driver/module.h"
#include "driver/occupancy.h"
#include "driver/peer.h"
#include "driver/settings.h"
#include "machine/interrupts.h"
#include "machine/observer.h"
#include "ptx/names.h"

namespace softcuda::driver {

namespace {

struct Request {
    Kernel& kernel;
    LaunchConfig config;
};

struct Refusal {
    CUresult code;
    std::string why;
};

[[noreturn]] void fail_launch(const Kernel& kernel, CUresult code, const std::string& why) {
    fail(code, "launch of kernel " + ptx::demangled(kernel.function->name) + " refused: " + why);
}

[[noreturn]] void refuse(const Request&, CUresult code, const std::string& why) { throw Refusal{code, why}; }

std::string text(const Dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

void check_dimensions(const Request& request) {
    const Device& gpu = device();
    const Function& function = *request.kernel.function;
    const Dim3 &grid = request.config.grid, &block = request.config.block;
    if (!grid.x || !grid.y || !grid.z) refuse(request, CUDA_ERROR_INVALID_VALUE, "a grid of " + text(grid) + " blocks");
    if (!block.x || !block.y || !block.z)
        refuse(request, CUDA_ERROR_INVALID_VALUE, "a block of " + text(block) + " threads");
    auto most = [&](CUdevice_attribute first) {
        Dim3 limit;
        limit.x = unsigned(gpu.attribute(first, 1024));
        limit.y = unsigned(gpu.attribute(CUdevice_attribute(first + 1), 1024));
        limit.z = unsigned(gpu.attribute(CUdevice_attribute(first + 2), 64));
        return limit;
    };
    Dim3 grids = most(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), blocks = most(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    if (grid.x > grids.x || grid.y > grids.y || grid.z > grids.z)
        refuse(request, CUDA_ERROR_INVALID_VALUE, "a grid of " + text(grid) + " blocks, at most " + text(grids));
    if (block.x > blocks.x || block.y > blocks.y || block.z > blocks.z)
        refuse(request, CUDA_ERROR_INVALID_VALUE, "a block of " + text(block) + " threads, at most " + text(blocks));

    uint64_t threads = block.count();
    uint64_t hardware = uint64_t(gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024));
    std::string asked = std::to_string(threads) + " threads per block, ";
    if (threads > hardware) refuse(request, CUDA_ERROR_INVALID_VALUE, asked + "at most " + std::to_string(hardware));
    if (function.max_threads && threads > function.max_threads)
        refuse(request, CUDA_ERROR_INVALID_VALUE,
               asked + "its launch bounds allow " + std::to_string(function.max_threads));
    if (threads > uint64_t(request.kernel.max_threads()))
        refuse(request, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
               asked + "with " + std::to_string(function.registers) + " registers each at most " +
                   std::to_string(request.kernel.max_threads()) + " fit");
    const uint32_t* required = function.required_threads;
    if (required[0] &&
        (block.x != required[0] || block.y != std::max(1u, required[1]) || block.z != std::max(1u, required[2])))
        refuse(request, CUDA_ERROR_INVALID_VALUE,
               "a block of " + text(block) + " threads, it requires " +
                   text({required[0], std::max(1u, required[1]), std::max(1u, required[2])}));
}

void check_shared(const Request& request) {
    const Kernel& kernel = request.kernel;
    int limit = kernel.dynamic_shared_limit();
    if (request.config.dynamic_shared > uint32_t(limit))
        refuse(request, CUDA_ERROR_INVALID_VALUE,
               std::to_string(request.config.dynamic_shared) + " bytes of dynamic shared memory beside " +
                   std::to_string(kernel.static_shared()) + " static ones, at most " + std::to_string(limit) +
                   " (more with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)");
}

void check_cluster(Request& request) {
    const uint32_t* required = request.kernel.function->required_cluster;
    Dim3& cluster = request.config.cluster;
    if (required[0]) {
        Dim3 wanted{required[0], std::max(1u, required[1]), std::max(1u, required[2])};
        bool same = cluster.x == wanted.x && cluster.y == wanted.y && cluster.z == wanted.z;
        if (cluster.count() != 1 && !same)
            refuse(request, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                   "clusters of " + text(cluster) + ", it requires " + text(wanted));
        cluster = wanted;
    }
    if (cluster.count() == 1) return;
    const Dim3& grid = request.config.grid;
    if (!cluster.x || !cluster.y || !cluster.z || cluster.count() > (request.kernel.any_cluster ? 16 : 8) ||
        grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z || device().profile_major() < 9)
        refuse(request, CUDA_ERROR_INVALID_CLUSTER_SIZE,
               "clusters of " + text(cluster) + " in a grid of " + text(grid) + " blocks");
}

void check_cooperative(const Request& request) {
    if (!request.config.cooperative) return;
    const Device& gpu = device();
    int resident =
        occupancy(gpu, request.kernel, int(request.config.block.count()), request.config.dynamic_shared).limit() *
        gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    if (request.config.grid.count() > uint64_t(resident))
        refuse(request, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
               std::to_string(request.config.grid.count()) + " blocks, " + std::to_string(resident) +
                   " fit on the device at once");
}

void pack(Request& request, void** params, void** extra) {
    const Function& function = *request.kernel.function;
    std::vector<std::byte>& buffer = request.config.params;
    buffer.assign(function.param_bytes, std::byte{0});
    if (extra && params) refuse(request, CUDA_ERROR_INVALID_VALUE, "both kernelParams and extra were given");
    if (params) {
        for (size_t i = 0; i < function.params.size(); ++i) {
            if (!params[i])
                refuse(request, CUDA_ERROR_INVALID_VALUE, "kernelParams[" + std::to_string(i) + "] is null");
            std::memcpy(buffer.data() + function.params[i].offset, params[i], function.params[i].bytes);
        }
        return;
    }
    const void* source = nullptr;
    size_t bytes = 0;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            source = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            bytes = *static_cast<size_t*>(extra[1]);
        else
            refuse(request, CUDA_ERROR_INVALID_VALUE, "extra holds an unknown key");
    }
    if (bytes < function.param_bytes || (!source && function.param_bytes))
        refuse(request, CUDA_ERROR_INVALID_VALUE,
               std::to_string(source ? bytes : 0) + " bytes of arguments, it takes " +
                   std::to_string(function.param_bytes));
    if (bytes > function.param_bytes)  // what an H200 answered, driver 580
        refuse(request, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
               std::to_string(bytes) + " bytes of packed arguments, it takes " + std::to_string(function.param_bytes));
    // There, parameters of 16 bytes' alignment arrive from a packed buffer. Of 32 and more, none of the kernel's arguments
    // does: it ran with others, without an error.
    for (size_t i = 0; i < function.params.size(); ++i)
        if (function.params[i].align > 16)
            refuse(request, CUDA_ERROR_NOT_SUPPORTED,
                   "parameter " + std::to_string(i + 1) + " is aligned to " + std::to_string(function.params[i].align) +
                       " bytes; in packed arguments (CU_LAUNCH_PARAM_BUFFER_POINTER, which PyCUDA uses) a GPU gets "
                       "wrong values then: keep it in __constant__ memory, or launch with kernelParams");
    if (function.param_bytes) std::memcpy(buffer.data(), source, function.param_bytes);
}

// What an H200 answered to such kernels.
CUresult code_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
        case FaultKind::misaligned_address: return CUDA_ERROR_MISALIGNED_ADDRESS;
        case FaultKind::illegal_instruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        case FaultKind::assertion: return CUDA_ERROR_ASSERT;
        case FaultKind::deadlock:
        case FaultKind::mbarrier:  // what a GPU with a watchdog answers
        case FaultKind::timeout: return CUDA_ERROR_LAUNCH_TIMEOUT;
        case FaultKind::stack_overflow: return CUDA_ERROR_ILLEGAL_ADDRESS;
        case FaultKind::invalid_address_space: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
        case FaultKind::invalid_pc: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

TaskRef launch(std::shared_ptr<Context> context, CUstream stream_handle, Request& request, void** params,
               void** extra) {
    auto stream = stream_of(context, stream_handle);
    require(request.kernel.context == context->serial, CUDA_ERROR_INVALID_HANDLE);
    check_launch_settings();
    try {
        check_dimensions(request);
        check_shared(request);
        check_cluster(request);
        check_cooperative(request);
        pack(request, params, extra);
    } catch (const Refusal& refusal) {
        fail_launch(request.kernel, refusal.code, refusal.why);
    }
    if (device().machine.observed()) {
        const Occupancy blocks =
            occupancy(device(), request.kernel, int(request.config.block.count()), request.config.dynamic_shared);
        device().machine.observer()->queued();
        request.config.occupancy = {blocks.warps, blocks.registers, blocks.shared, blocks.blocks};
    }
    request.config.interrupts = interrupts;
    auto work = [program = request.kernel.program, function = request.kernel.function, config = request.config,
                 context = context.get()]() mutable {  // the task keeps the context alive
        config.elsewhere = visible_elsewhere(*context);
        LaunchResult result = context->gpu->machine.launch(*program, *function, config);
        if (result.kind == FaultKind::interrupted) {  // the context goes on
            ++context->cut_launches;
            if (!result.message.empty()) say(result.message);
        } else if (!result.ok)
            context->set_error(code_of(result.kind), result.message + why_not_visible(*context, result.address));
    };
    return Scheduler::get().submit(context, *stream, Engine::compute, std::move(work));
}

CUresult launch_kernel(CUfunction handle, Dim3 grid, Dim3 block, unsigned shared, CUstream stream, void** params,
                       void** extra, bool cooperative) {
    return in_context([&](auto& context) {
        auto kernel = find<Kernel>(handle);
        Request request{*kernel, {}};
        request.config.grid = grid;
        request.config.block = block;
        request.config.dynamic_shared = shared;
        request.config.cooperative = cooperative;
        launch(context, stream, request, params, extra);
    });
}

}  // namespace

int check_device_launch(Kernel& kernel, LaunchConfig& config, std::string& why) {
    Request request{kernel, config};
    constexpr int invalid_configuration = 9;  // cudaErrorInvalidConfiguration; other codes are the driver's
    int invalid = invalid_configuration;
    try {
        check_dimensions(request);
        invalid = CUDA_ERROR_INVALID_VALUE;
        check_shared(request);
        check_cluster(request);
    } catch (const Refusal& refusal) {
        why = refusal.why;
        return refusal.code == CUDA_ERROR_INVALID_VALUE ? invalid : int(refusal.code);
    }
    config = request.config;
    return CUDA_SUCCESS;
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** params, void** extra) {
    return launch_kernel(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** params) {
    return launch_kernel(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, nullptr, true);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* asked, CUfunction handle, void** params, void** extra) {
    return in_context([&](auto& context) {
        require(asked && (asked->attrs || !asked->numAttrs));
        auto kernel = find<Kernel>(handle);
        Request request{*kernel, {}};
        request.config.grid = {asked->gridDimX, asked->gridDimY, asked->gridDimZ};
        request.config.block = {asked->blockDimX, asked->blockDimY, asked->blockDimZ};
        request.config.dynamic_shared = asked->sharedMemBytes;
        std::vector<CUevent> events;
        for (unsigned i = 0; i < asked->numAttrs; ++i) {
            const CUlaunchAttribute& attribute = asked->attrs[i];
            switch (attribute.id) {
                case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                    request.config.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                                              attribute.value.clusterDim.z};
                    break;
                case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                    request.config.cooperative = attribute.value.cooperative != 0;
                    break;
                // Both are recorded when the kernel is done, the latest that is allowed.
                case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
                    events.push_back(attribute.value.programmaticEvent.event);
                    break;
                case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
                    events.push_back(attribute.value.launchCompletionEvent.event);
                    break;
                // Hints that change no result.
                case CU_LAUNCH_ATTRIBUTE_IGNORE:
                case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
                case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
                // Every write is seen by everybody in the order it was made.
                case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                // Kernels of one stream never overlap here: the dependent one simply starts later.
                case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: break;
                default:
                    fail(CUDA_ERROR_NOT_SUPPORTED, "cuLaunchKernelEx: launch attribute " +
                                                       std::to_string(int(attribute.id)) + " is not supported");
            }
        }
        TaskRef task = launch(context, asked->hStream, request, params, extra);
        for (CUevent event : events) record_event(context, event, task);
    });
}

// --- the interface before CUDA 4, which PyCUDA still wraps

namespace {

CUresult old_launch(CUfunction handle, int width, int height, CUstream stream) {
    return in_context([&](auto& context) {
        auto kernel = find<Kernel>(handle);
        if (width <= 0 || height <= 0)
            fail_launch(*kernel, CUDA_ERROR_INVALID_VALUE,
                        "a grid of (" + std::to_string(width) + ", " + std::to_string(height) + ") blocks");
        Request request{*kernel, {}};
        request.config.grid = {unsigned(width), unsigned(height), 1};
        request.config.block = kernel->old_block;
        request.config.dynamic_shared = kernel->old_shared;
        std::vector<std::byte> buffer = kernel->old_params;
        buffer.resize(kernel->old_bytes);
        size_t bytes = std::min<size_t>(buffer.size(), kernel->function->param_bytes);
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                         CU_LAUNCH_PARAM_END};
        launch(context, stream, request, nullptr, extra);
    });
}

constexpr size_t old_param_limit = 32764;

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z) {
    return in_context([&](auto&) {
        if (x <= 0 || y <= 0 || z <= 0)
            fail_launch(
                *find<Kernel>(handle), CUDA_ERROR_INVALID_VALUE,
                "a block of (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ") threads");
        const uint64_t most = uint64_t(device().attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024));
        if (uint64_t(x) * uint64_t(y) * uint64_t(z) > most)  // the launch reports what else is wrong with it
            fail_launch(*find<Kernel>(handle), CUDA_ERROR_INVALID_VALUE,
                        "a block of " + text({unsigned(x), unsigned(y), unsigned(z)}) + " threads, at most " +
                            std::to_string(most));
        find<Kernel>(handle)->old_block = {unsigned(x), unsigned(y), unsigned(z)};
    });
}

CUresult cuFuncSetSharedSize(CUfunction handle, unsigned bytes) {
    return in_context([&](auto&) { find<Kernel>(handle)->old_shared = bytes; });
}

CUresult cuParamSetSize(CUfunction handle, unsigned bytes) {
    return in_context([&](auto&) {
        require(bytes <= old_param_limit);
        find<Kernel>(handle)->old_bytes = bytes;
    });
}

namespace {

CUresult set_param(CUfunction handle, int offset, const void* data, unsigned bytes) {
    return in_context([&](auto&) {
        require(data && offset >= 0 && size_t(offset) + bytes <= old_param_limit);
        auto kernel = find<Kernel>(handle);
        if (kernel->old_params.size() < offset + bytes) kernel->old_params.resize(offset + bytes);
        std::copy_n(static_cast<const std::byte*>(data), bytes, kernel->old_params.begin() + offset);
    });
}

}  // namespace

CUresult cuParamSetv(CUfunction handle, int offset, void* data, unsigned bytes) {
    return set_param(handle, offset, data, bytes);
}

CUresult cuParamSeti(CUfunction handle, int offset, unsigned value) {
    return set_param(handle, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction handle, int offset, float value) {
    return set_param(handle, offset, &value, sizeof value);
}

CUresult cuLaunch(CUfunction handle) { return old_launch(handle, 1, 1, nullptr); }

CUresult cuLaunchGrid(CUfunction handle, int width, int height) { return old_launch(handle, width, height, nullptr); }

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream) {
    return old_launch(handle, width, height, stream);
}
