// Streams, events and host functions.
#include "runtime/runtime.h"

using namespace softcuda::runtime;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return in_context([&] { return cuStreamCreate(stream, CU_STREAM_DEFAULT); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return in_context([&] { return cuStreamCreate(stream, flags); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return in_context([&] { return cuStreamCreateWithPriority(stream, flags, priority); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return in_context([&] { return cuStreamDestroy(stream); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return in_context([&] { return cuStreamGetPriority(stream, priority); });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return in_context([&] { return cuStreamGetFlags(stream, flags); });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return in_context([&] { return cuStreamGetId(stream, id); });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return in_context([&] { return cuStreamGetDevice(stream, device); });
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    return in_context([&] { return cuStreamCopyAttributes(to, from); });
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
    return in_context([&] {
        return cuStreamGetAttribute(stream, CUstreamAttrID(attribute), reinterpret_cast<CUstreamAttrValue*>(value));
    });
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
    return in_context([&] {
        return cuStreamSetAttribute(stream, CUstreamAttrID(attribute),
                                    reinterpret_cast<const CUstreamAttrValue*>(value));
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return in_context([&] { return cuStreamWaitEvent(stream, event, flags); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return in_context([&] { return cuStreamSynchronize(stream); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return in_context([&] { return cuStreamQuery(stream); });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* memory, size_t bytes, unsigned flags) {
    return in_context([&] { return cuStreamAttachMemAsync(stream, address(memory), bytes, flags); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return in_context([&] { return cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)); });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
    return in_context([&] {  // the two kinds of callback differ in the name of the error's type
        return cuStreamAddCallback(stream, reinterpret_cast<CUstreamCallback>(callback), data, flags);
    });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return in_context([&] { return cuLaunchHostFunc(stream, function, data); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return in_context([&] { return cuEventCreate(event, CU_EVENT_DEFAULT); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return in_context([&] { return cuEventCreate(event, flags); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return in_context([&] { return cuEventRecord(event, stream); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return in_context([&] { return cuEventRecordWithFlags(event, stream, flags); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return in_context([&] { return cuEventQuery(event); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return in_context([&] { return cuEventSynchronize(event); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return in_context([&] { return cuEventDestroy(event); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    return in_context([&] { return cuEventElapsedTime(milliseconds, begin, end); });
}
