// Names from before today's cuda.h whose binary interface is the same or easily carried over.
// The 32-bit interfaces of CUDA 2 and 3 (cuMemAlloc without _v2 …) are not exported: they cannot hold an address.
#include "driver/driver.h"
#include "driver/entry_points.h"

#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuDeviceGetUuid
#undef cuMemHostRegister
#undef cuMemPrefetchAsync
#undef cuMemAdvise
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile
#undef cuMemcpyBatchAsync

using softcuda::driver::PerThreadDefault;

static CUmemLocation location_of(CUdevice device) {
    return {.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

#pragma GCC visibility push(default)
extern "C" {

CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
    return cuMemHostRegister_v2(host, bytes, flags);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
    return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}
CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
    return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return cuStreamWaitValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return cuStreamWaitValue64_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return cuStreamWriteValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return cuStreamWriteValue64_v2(stream, address, value, flags);
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags) {
    return cuStreamBatchMemOp_v2(stream, count, operations, flags);
}
CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* link) {
    return cuLinkCreate_v2(count, options, values, link);
}
CUresult cuLinkAddData(CUlinkState link, CUjitInputType type, void* data, size_t bytes, const char* name,
                       unsigned count, CUjit_option* options, void** values) {
    return cuLinkAddData_v2(link, type, data, bytes, name, count, options, values);
}
CUresult cuLinkAddFile(CUlinkState link, CUjitInputType type, const char* path, unsigned count, CUjit_option* options,
                       void** values) {
    return cuLinkAddFile_v2(link, type, path, count, options, values);
}
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* firsts, size_t groups, size_t* failed,
                            CUstream stream) {
    if (failed) *failed = SIZE_MAX;  // no copy in particular: nothing has been done
    return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, firsts, groups, stream);
}

// What a program for default streams of each thread calls where cuda.h has no type for it.
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                 CUmemcpyAttributes* attributes, size_t* firsts, size_t groups, size_t* failed,
                                 CUstream stream) {
    PerThreadDefault scope;
    return cuMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, groups, failed, stream);
}
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
    PerThreadDefault scope;
    return cuMemPrefetchAsync(address, bytes, device, stream);
}
CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
    PerThreadDefault scope;
    return cuStreamGetCtx(stream, context);
}
CUresult cuGetProcAddress_v2_ptsz(const char* symbol, void** function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult* status) {
    if (!flags) flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return cuGetProcAddress_v2(symbol, function, version, flags, status);
}

}  // extern "C"
#pragma GCC visibility pop
