// cuMemcpy* of one run of bytes.
#include "driver/copy.h"

using namespace softcuda::driver;

namespace {

Copy flat(Side to, Side from, size_t bytes) { return {.from = from, .to = to, .width = bytes}; }

Side array_at(CUarray array, size_t offset, size_t bytes) { return array_side(*find<Array>(array), offset, bytes); }

// cuMemcpy: either side may be host memory nobody registered.
Side any_side(CUdeviceptr address) {
    Side side = host_side(reinterpret_cast<void*>(address));
    return side.place == Place::pinned ? device_side(address) : side;
}

}  // namespace

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return in_context([&](auto& context) { copy_now(context, flat(device_side(to), host_side(from), bytes)); });
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return in_context([&](auto& context) { copy_now(context, flat(host_side(to), device_side(from), bytes)); });
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return in_context([&](auto& context) { copy_now(context, flat(device_side(to), device_side(from), bytes)); });
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return in_context([&](auto& context) { copy_now(context, flat(any_side(to), any_side(from), bytes)); });
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return in_context([&](auto& context) {
        require(handles().find<Context>(to_context) && handles().find<Context>(from_context),
                CUDA_ERROR_INVALID_CONTEXT);
        copy_now(context, flat(device_side(to), device_side(from), bytes));
    });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return in_context([&](auto& context) { copy_in(context, stream, flat(device_side(to), host_side(from), bytes)); });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return in_context([&](auto& context) { copy_in(context, stream, flat(host_side(to), device_side(from), bytes)); });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return in_context(
        [&](auto& context) { copy_in(context, stream, flat(device_side(to), device_side(from), bytes)); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return in_context([&](auto& context) { copy_in(context, stream, flat(any_side(to), any_side(from), bytes)); });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    return in_context([&](auto& context) {
        require(handles().find<Context>(to_context) && handles().find<Context>(from_context),
                CUDA_ERROR_INVALID_CONTEXT);
        copy_in(context, stream, flat(device_side(to), device_side(from), bytes));
    });
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return in_context(
        [&](auto& context) { copy_now(context, flat(array_at(to, offset, bytes), device_side(from), bytes)); });
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return in_context(
        [&](auto& context) { copy_now(context, flat(device_side(to), array_at(from, offset, bytes), bytes)); });
}
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
    return in_context(
        [&](auto& context) { copy_now(context, flat(array_at(to, offset, bytes), host_side(from), bytes)); });
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
    return in_context(
        [&](auto& context) { copy_now(context, flat(host_side(to), array_at(from, offset, bytes), bytes)); });
}
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
    return in_context([&](auto& context) {
        copy_now(context, flat(array_at(to, to_offset, bytes), array_at(from, from_offset, bytes), bytes));
    });
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
    return in_context(
        [&](auto& context) { copy_in(context, stream, flat(array_at(to, offset, bytes), host_side(from), bytes)); });
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    return in_context(
        [&](auto& context) { copy_in(context, stream, flat(host_side(to), array_at(from, offset, bytes), bytes)); });
}

// One copy after the other is as good as all at once, and fails before the first one starts where one cannot be done.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* firsts, size_t groups, CUstream handle) {
    return in_context([&](auto& context) {
        require(to && from && sizes && count && attributes && firsts && groups && groups <= count && firsts[0] == 0);
        require(handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD);
        for (size_t i = 0; i < groups; ++i) require(firsts[i] < count && (!i || firsts[i - 1] < firsts[i]));
        std::vector<Copy> copies;
        for (size_t i = 0; i < count; ++i) {
            copies.push_back(flat(any_side(to[i]), any_side(from[i]), sizes[i]));
            check(copies[i].from, copies[i]);
            check(copies[i].to, copies[i]);
        }
        for (const Copy& each : copies) copy_in(context, handle, each);
    });
}
