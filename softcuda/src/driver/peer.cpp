// Access from one device's kernels to another's memory.
#include "driver/peer.h"

#include "driver/driver.h"

namespace softcuda::driver {

namespace {
std::mutex peers_mutex;  // guards every context's peers
}  // namespace

void forget_peer(uint64_t serial) {
    std::lock_guard lock(peers_mutex);
    for (auto& context : handles().of_context<Context>(0)) context->peers.erase(serial);
}

std::vector<Allocation> visible_elsewhere(const Context& context) {
    std::vector<Allocation> visible;
    if (device_count() == 1) return visible;
    std::lock_guard lock(peers_mutex);
    for (Device* other : all_devices()) {
        if (other == context.gpu) continue;
        auto view = other->memory.view();
        for (const Allocation& allocation : *view) {
            bool everywhere = allocation.kind == MemoryKind::pinned || allocation.kind == MemoryKind::registered ||
                              allocation.kind == MemoryKind::managed;
            if (everywhere || allocation.readers >> context.gpu->ordinal & 1 ||
                context.peers.contains(allocation.context))
                visible.push_back(allocation);
        }
    }
    return visible;
}

std::string why_not_visible(const Context& context, uint64_t address) {
    if (device_count() == 1) return "";
    Located found = locate(address);
    if (!found || found.device == context.gpu) return "";
    return "\n  the address is memory of device " + std::to_string(found.device->ordinal) +
           ", the kernel ran on device " + std::to_string(context.gpu->ordinal) +
           " without peer access to it (cuCtxEnablePeerAccess)";
}

}  // namespace softcuda::driver

using namespace softcuda::driver;
namespace driver = softcuda::driver;

CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
    return with_device([&](Device&) {
        require(can);
        *can = can_access_peer(driver::device(ordinal), driver::device(peer));
    });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target) {
    return with_device([&](Device&) {
        require(value);
        Device &from = driver::device(source), &to = driver::device(target);
        require(&from != &to, CUDA_ERROR_INVALID_DEVICE);  // a device has no such relation to itself
        bool access = can_access_peer(from, to), native = access && peers_share_a_link(from);
        switch (attribute) {
            case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; break;
            case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = access; break;
            case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
                *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED && native;
                break;
            default: fail(CUDA_ERROR_INVALID_VALUE);
        }
    });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
    return in_context([&](auto& context) {
        require(flags == 0);
        auto peer = find_context(handle);
        require(peer != context, CUDA_ERROR_INVALID_CONTEXT);
        require(can_access_peer(*context->gpu, *peer->gpu), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        std::lock_guard lock(peers_mutex);
        require(context->peers.insert(peer->serial).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    return in_context([&](auto& context) {
        auto peer = find_context(handle);
        synchronize(context);
        std::lock_guard lock(peers_mutex);
        require(context->peers.erase(peer->serial) != 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    });
}
