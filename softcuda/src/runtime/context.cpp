// The context of each thread: the primary one of its device, unless the program made another current.
#include <atomic>
#include <mutex>
#include <set>

#include "runtime/runtime.h"

// Of libcuda.so.1, beside its public functions.
extern "C" void softcuda_take_per_thread_default(int change);

namespace softcuda::runtime {

namespace {

thread_local int chosen_device = 0;
std::mutex mutex;
std::set<CUcontext> reset_contexts;  // handles are never used twice; guarded by mutex
std::atomic<uint64_t> generation{1};

CUcontext current_context() {
    CUcontext context = nullptr;
    if (cuCtxGetCurrent(&context)) return nullptr;
    std::lock_guard lock(mutex);
    return reset_contexts.contains(context) ? nullptr : context;
}

cudaError_t make_primary_current(int device) {
    CUcontext context = nullptr;
    CUresult answer = cuDevicePrimaryCtxRetain(&context, device);
    if (!answer) answer = cuCtxSetCurrent(context);
    return from_driver(answer);
}

}  // namespace

cudaError_t start() {
    static const CUresult answer = cuInit(0);
    return from_driver(answer);
}

cudaError_t enter() {
    if (cudaError_t error = start()) return error;
    return current_context() ? cudaSuccess : make_primary_current(chosen_device);
}

int current_device() {
    CUdevice device = chosen_device;
    if (!start() && current_context()) cuCtxGetDevice(&device);
    return device;
}

uint64_t context_generation() { return generation; }

PerThreadDefault::PerThreadDefault() { softcuda_take_per_thread_default(+1); }
PerThreadDefault::~PerThreadDefault() { softcuda_take_per_thread_default(-1); }

}  // namespace softcuda::runtime

using namespace softcuda::runtime;

cudaError_t cudaSetDevice(int device) {
    return started([&] {
        int count = 0;
        if (CUresult answer = cuDeviceGetCount(&count)) return from_driver(answer);
        if (device < 0 || device >= count) return cudaErrorInvalidDevice;
        chosen_device = device;
        return make_primary_current(device);
    });
}

cudaError_t cudaInitDevice(int device, unsigned flags, unsigned use_flags) {
    return started([&] {
        if (use_flags & cudaInitDeviceFlagsAreValid)
            if (CUresult answer = cuDevicePrimaryCtxSetFlags(device, flags)) return answer;
        CUcontext context;
        return cuDevicePrimaryCtxRetain(&context, device);
    });
}

cudaError_t cudaGetDevice(int* device) {
    return started([&] {
        if (!device) return cudaErrorInvalidValue;
        *device = current_device();
        return cudaSuccess;
    });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return started([&] { return cuDevicePrimaryCtxSetFlags(current_device(), flags & ~unsigned(cudaDeviceMapHost)); });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return started([&] {
        if (!flags) return CUDA_ERROR_INVALID_VALUE;
        int active;
        const CUresult answer = cuDevicePrimaryCtxGetState(current_device(), flags, &active);
        *flags |= cudaDeviceMapHost;  // always so under unified addressing
        return answer;
    });
}

cudaError_t cudaDeviceReset() {
    return started([&] {
        const CUdevice device = current_device();
        CUcontext context = nullptr;
        unsigned flags;
        int active = 0;
        if (CUresult answer = cuDevicePrimaryCtxGetState(device, &flags, &active); answer || !active) return answer;
        if (CUresult answer = cuDevicePrimaryCtxRetain(&context, device)) return answer;
        cuDevicePrimaryCtxRelease(device);
        const CUresult answer = cuDevicePrimaryCtxReset(device);
        std::lock_guard lock(mutex);
        reset_contexts.insert(context);
        ++generation;
        return answer;
    });
}

cudaError_t cudaDeviceSynchronize() {
    return in_context([] { return cuCtxSynchronize(); });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return in_context([&] { return cuCtxSetLimit(CUlimit(limit), value); });
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return in_context([&] { return cuCtxGetLimit(value, CUlimit(limit)); });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return in_context([&] { return cuCtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config)); });
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    return in_context([&] { return cuCtxSetCacheConfig(CUfunc_cache(config)); });
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return in_context([&] { return cuCtxGetSharedMemConfig(reinterpret_cast<CUsharedconfig*>(config)); });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return in_context([&] { return cuCtxSetSharedMemConfig(CUsharedconfig(config)); });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return in_context([&] { return cuCtxGetStreamPriorityRange(least, greatest); });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
    return in_context([] { return cuCtxResetPersistingL2Cache(); });
}

// --- peers

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return started([&] { return cuDeviceCanAccessPeer(can, device, peer); });
}

template <class Change>
static cudaError_t change_peer(int peer, Change change) {
    return in_context([&] {
        CUcontext context = nullptr;
        if (CUresult answer = cuDevicePrimaryCtxRetain(&context, peer)) return answer;
        const CUresult answer = change(context);
        if (answer) cuDevicePrimaryCtxRelease(peer);
        return answer;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return change_peer(peer, [&](CUcontext context) { return cuCtxEnablePeerAccess(context, flags); });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return change_peer(peer, [](CUcontext context) { return cuCtxDisablePeerAccess(context); });
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
    return started([&] { return cuDeviceGetP2PAttribute(value, CUdevice_P2PAttribute(attribute), from, to); });
}
