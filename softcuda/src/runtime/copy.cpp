// Copies and fills: flat, rows, boxes, arrays and symbols.
#include <algorithm>
#include <cstring>

#include "runtime/runtime.h"

using namespace softcuda::runtime;

namespace {

struct When {  // a stream, or at once
    bool later = false;
    cudaStream_t stream = nullptr;
};

bool known(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

// Memory that the driver knows: the device's, managed, pinned or registered.
bool is_known(const void* pointer) {
    unsigned type = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) == CUDA_SUCCESS;
}

bool device_only(const void* pointer) {
    void* host = nullptr;
    return is_known(pointer) && cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address(pointer));
}

cudaError_t flat(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, When when) {
    if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
    if (!bytes) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return from_driver(when.later ? cuMemcpyHtoDAsync(address(to), from, bytes, when.stream)
                                          : cuMemcpyHtoD(address(to), from, bytes));
        case cudaMemcpyDeviceToHost:
            return from_driver(when.later ? cuMemcpyDtoHAsync(to, address(from), bytes, when.stream)
                                          : cuMemcpyDtoH(to, address(from), bytes));
        case cudaMemcpyDeviceToDevice:
            return from_driver(when.later ? cuMemcpyDtoDAsync(address(to), address(from), bytes, when.stream)
                                          : cuMemcpyDtoD(address(to), address(from), bytes));
        case cudaMemcpyHostToHost:
            if (device_only(to) || device_only(from)) return cudaErrorInvalidValue;
            [[fallthrough]];
        default:
            return from_driver(when.later ? cuMemcpyAsync(address(to), address(from), bytes, when.stream)
                                          : cuMemcpy(address(to), address(from), bytes));
    }
}

cudaError_t box(const CUDA_MEMCPY3D& copy, When when) {
    if (!copy.WidthInBytes || !copy.Height || !copy.Depth) return cudaSuccess;
    return from_driver(when.later ? cuMemcpy3DAsync(&copy, when.stream) : cuMemcpy3D(&copy));
}

CUmemorytype type_of(const void* pointer, bool on_device, cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) on_device = is_known(pointer);
    return on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

void read_from(CUDA_MEMCPY3D& copy, const void* pointer, size_t pitch, cudaMemcpyKind kind) {
    copy.srcMemoryType = type_of(pointer, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, kind);
    if (copy.srcMemoryType == CU_MEMORYTYPE_HOST)
        copy.srcHost = pointer;
    else
        copy.srcDevice = address(pointer);
    copy.srcPitch = pitch;
}
void write_to(CUDA_MEMCPY3D& copy, void* pointer, size_t pitch, cudaMemcpyKind kind) {
    copy.dstMemoryType = type_of(pointer, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, kind);
    if (copy.dstMemoryType == CU_MEMORYTYPE_HOST)
        copy.dstHost = pointer;
    else
        copy.dstDevice = address(pointer);
    copy.dstPitch = pitch;
}
void read_from(CUDA_MEMCPY3D& copy, cudaArray_const_t array) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}
void write_to(CUDA_MEMCPY3D& copy, cudaArray_t array) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = reinterpret_cast<CUarray>(array);
}

cudaError_t rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                 cudaMemcpyKind kind, When when) {
    if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
    if (!width || !height) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    if (height > 1 && (to_pitch < width || from_pitch < width)) return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY3D copy{};
    read_from(copy, from, std::max(from_pitch, width), kind);
    write_to(copy, to, std::max(to_pitch, width), kind);
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = 1;
    return box(copy, when);
}

struct Shape {
    CUDA_ARRAY3D_DESCRIPTOR is{};
    size_t element = 0;
};

size_t format_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8: return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF: return 2;
        default: return 4;
    }
}

CUresult shape_of(cudaArray_const_t array, Shape& shape) {
    const CUresult answer =
        cuArray3DGetDescriptor(&shape.is, reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)));
    if (!answer) shape.element = format_bytes(shape.is.Format) * shape.is.NumChannels;
    return answer;
}

// --- boxes

template <class Parameters>
cudaError_t box_of(const Parameters* p, cudaMemcpyKind kind, When when) {
    if (!p || bool(p->srcArray) == bool(p->srcPtr.ptr) || bool(p->dstArray) == bool(p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
    // Widths and offsets count elements of an array, if one takes part; offsets into plain memory are bytes.
    Shape from, to;
    if (p->srcArray)
        if (CUresult answer = shape_of(p->srcArray, from)) return from_driver(answer);
    if (p->dstArray)
        if (CUresult answer = shape_of(p->dstArray, to)) return from_driver(answer);
    const size_t element = p->srcArray ? from.element : p->dstArray ? to.element : 1;
    if (from.element && to.element && from.element != to.element) return cudaErrorInvalidValue;
    CUDA_MEMCPY3D copy{};
    copy.srcXInBytes = p->srcPos.x * (p->srcArray ? element : 1);
    copy.srcY = p->srcPos.y;
    copy.srcZ = p->srcPos.z;
    copy.dstXInBytes = p->dstPos.x * (p->dstArray ? element : 1);
    copy.dstY = p->dstPos.y;
    copy.dstZ = p->dstPos.z;
    copy.WidthInBytes = p->extent.width * element;
    copy.Height = p->extent.height;
    copy.Depth = p->extent.depth;
    if (p->srcArray) {
        read_from(copy, p->srcArray);
    } else {
        read_from(copy, p->srcPtr.ptr, p->srcPtr.pitch, kind);
        copy.srcHeight = p->srcPtr.ysize;
    }
    if (p->dstArray) {
        write_to(copy, p->dstArray);
    } else {
        write_to(copy, p->dstPtr.ptr, p->dstPtr.pitch, kind);
        copy.dstHeight = p->dstPtr.ysize;
    }
    return box(copy, when);
}

// --- runs of an array's elements, from row to row

template <class Each>
cudaError_t each_row(cudaArray_const_t array, size_t x, size_t y, size_t bytes, Each each) {
    Shape shape;
    if (CUresult answer = shape_of(array, shape)) return from_driver(answer);
    const size_t row = shape.is.Width * shape.element;
    if (x >= row) return cudaErrorInvalidValue;
    for (size_t done = 0; done < bytes; ++y, x = 0) {
        const size_t part = std::min(bytes - done, row - x);
        if (cudaError_t error = each(x, y, done, part)) return error;
        done += part;
    }
    return cudaSuccess;
}

cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, When when) {
    if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
    if (height > 1 && pitch < width) return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY3D copy{};
    read_from(copy, from, std::max(pitch, width), kind);
    write_to(copy, to);
    copy.dstXInBytes = x;
    copy.dstY = y;
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = 1;
    return box(copy, when);
}

cudaError_t from_array(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                       cudaMemcpyKind kind, When when) {
    if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
    if (height > 1 && pitch < width) return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY3D copy{};
    read_from(copy, from);
    write_to(copy, to, std::max(pitch, width), kind);
    copy.srcXInBytes = x;
    copy.srcY = y;
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = 1;
    return box(copy, when);
}

cudaError_t run_to_array(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind,
                         When when) {
    return each_row(to, x, y, bytes, [&](size_t column, size_t row, size_t done, size_t part) {
        return to_array(to, column, row, static_cast<const char*>(from) + done, part, part, 1, kind, when);
    });
}

cudaError_t run_from_array(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind,
                           When when) {
    return each_row(from, x, y, bytes, [&](size_t column, size_t row, size_t done, size_t part) {
        return from_array(static_cast<char*>(to) + done, part, from, column, row, part, 1, kind, when);
    });
}

// --- symbols

cudaError_t part_of_symbol(const void* symbol, size_t bytes, size_t offset, void*& at) {
    CUdeviceptr begin = 0;
    size_t size = 0;
    if (cudaError_t error = find_symbol(symbol, begin, size)) return error;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    at = reinterpret_cast<void*>(begin + offset);
    return cudaSuccess;
}

cudaError_t to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                      When when) {
    void* to = nullptr;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (cudaError_t error = part_of_symbol(symbol, bytes, offset, to)) return error;
    return flat(to, from, bytes, kind, when);
}

cudaError_t from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, When when) {
    void* from = nullptr;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (cudaError_t error = part_of_symbol(symbol, bytes, offset, from)) return error;
    return flat(to, from, bytes, kind, when);
}

// --- fills

cudaError_t fill(void* memory, size_t pitch, int value, size_t width, size_t height, When when) {
    if (!width || !height) return cudaSuccess;
    if (height > 1 && pitch < width) return cudaErrorInvalidPitchValue;
    const auto byte = static_cast<unsigned char>(value);
    if (height == 1)
        return from_driver(when.later ? cuMemsetD8Async(address(memory), byte, width, when.stream)
                                      : cuMemsetD8(address(memory), byte, width));
    return from_driver(when.later ? cuMemsetD2D8Async(address(memory), pitch, byte, width, height, when.stream)
                                  : cuMemsetD2D8(address(memory), pitch, byte, width, height));
}

cudaError_t fill_box(cudaPitchedPtr memory, int value, cudaExtent extent, When when) {
    for (size_t z = 0; z < extent.depth; ++z)
        if (cudaError_t error = fill(static_cast<char*>(memory.ptr) + z * memory.pitch * memory.ysize, memory.pitch,
                                     value, extent.width, extent.height, when))
            return error;
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return in_context([&] { return flat(to, from, bytes, kind, {}); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return flat(to, from, bytes, kind, {true, stream}); });
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);  // addresses say which device they are on
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* firsts, size_t groups, cudaStream_t stream) {
    static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes));
    return in_context([&] {
        return cuMemcpyBatchAsync_v2(reinterpret_cast<CUdeviceptr*>(const_cast<void**>(to)),
                                     reinterpret_cast<CUdeviceptr*>(const_cast<void**>(from)),
                                     const_cast<size_t*>(sizes), count,
                                     reinterpret_cast<CUmemcpyAttributes*>(attributes), firsts, groups, stream);
    });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
    return in_context([&] { return rows(to, to_pitch, from, from_pitch, width, height, kind, {}); });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return rows(to, to_pitch, from, from_pitch, width, height, kind, {true, stream}); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    return in_context([&] { return box_of(p, p ? p->kind : cudaMemcpyDefault, {}); });
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    return in_context([&] { return box_of(p, p ? p->kind : cudaMemcpyDefault, {true, stream}); });
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
    return in_context([&] { return box_of(p, cudaMemcpyDeviceToDevice, {}); });
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
    return in_context([&] { return box_of(p, cudaMemcpyDeviceToDevice, {true, stream}); });
}

cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
    return in_context([&] { return fill(memory, bytes, value, bytes, 1, {}); });
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
    return in_context([&] { return fill(memory, bytes, value, bytes, 1, {true, stream}); });
}
cudaError_t cudaMemset2D(void* memory, size_t pitch, int value, size_t width, size_t height) {
    return in_context([&] { return fill(memory, pitch, value, width, height, {}); });
}
cudaError_t cudaMemset2DAsync(void* memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return in_context([&] { return fill(memory, pitch, value, width, height, {true, stream}); });
}
cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
    return in_context([&] { return fill_box(memory, value, extent, {}); });
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream) {
    return in_context([&] { return fill_box(memory, value, extent, {true, stream}); });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return in_context([&] {
        size_t bytes = 0;
        return pointer ? find_symbol(symbol, *reinterpret_cast<CUdeviceptr*>(pointer), bytes) : cudaErrorInvalidValue;
    });
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    return in_context([&] {
        CUdeviceptr begin = 0;
        return bytes ? find_symbol(symbol, begin, *bytes) : cudaErrorInvalidValue;
    });
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return in_context([&] { return to_symbol(symbol, from, bytes, offset, kind, {}); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return to_symbol(symbol, from, bytes, offset, kind, {true, stream}); });
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return in_context([&] { return from_symbol(to, symbol, bytes, offset, kind, {}); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    return in_context([&] { return from_symbol(to, symbol, bytes, offset, kind, {true, stream}); });
}

// --- arrays: memory of a shape, which is copied; kernels would read it by textures

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned flags) {
    return in_context([&] {
        if (!array || !channels) return cudaErrorInvalidValue;
        const int widths[] = {channels->x, channels->y, channels->z, channels->w};
        unsigned count = 0;
        while (count < 4 && widths[count] == channels->x && channels->x) ++count;
        for (unsigned i = count; i < 4; ++i)
            if (widths[i]) return cudaErrorInvalidChannelDescriptor;
        CUDA_ARRAY3D_DESCRIPTOR shape{};
        const bool is_signed = channels->f == cudaChannelFormatKindSigned,
                   real = channels->f == cudaChannelFormatKindFloat;
        if (!is_signed && !real && channels->f != cudaChannelFormatKindUnsigned)
            return cudaErrorInvalidChannelDescriptor;
        switch (channels->x) {
            case 8: shape.Format = is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8; break;
            case 16:
                shape.Format = real        ? CU_AD_FORMAT_HALF
                               : is_signed ? CU_AD_FORMAT_SIGNED_INT16
                                           : CU_AD_FORMAT_UNSIGNED_INT16;
                break;
            case 32:
                shape.Format = real        ? CU_AD_FORMAT_FLOAT
                               : is_signed ? CU_AD_FORMAT_SIGNED_INT32
                                           : CU_AD_FORMAT_UNSIGNED_INT32;
                break;
            default: return cudaErrorInvalidChannelDescriptor;
        }
        if (real && channels->x == 8) return cudaErrorInvalidChannelDescriptor;
        shape.NumChannels = count;
        shape.Width = extent.width;
        shape.Height = extent.height;
        shape.Depth = extent.depth;
        shape.Flags = flags;
        return from_driver(cuArray3DCreate(reinterpret_cast<CUarray*>(array), &shape));
    });
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width, size_t height,
                            unsigned flags) {
    return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    return in_context([&] { return array ? cuArrayDestroy(reinterpret_cast<CUarray>(array)) : CUDA_SUCCESS; });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    return in_context([&] {
        Shape shape;
        if (CUresult answer = shape_of(array, shape)) return answer;
        if (extent) *extent = {shape.is.Width, shape.is.Height, shape.is.Depth};
        if (flags) *flags = shape.is.Flags;
        if (!channels) return CUDA_SUCCESS;
        const int bits = int(format_bytes(shape.is.Format)) * 8;
        int widths[4] = {};
        for (unsigned i = 0; i < shape.is.NumChannels; ++i) widths[i] = bits;
        cudaChannelFormatKind kind = cudaChannelFormatKindUnsigned;
        switch (shape.is.Format) {
            case CU_AD_FORMAT_SIGNED_INT8:
            case CU_AD_FORMAT_SIGNED_INT16:
            case CU_AD_FORMAT_SIGNED_INT32: kind = cudaChannelFormatKindSigned; break;
            case CU_AD_FORMAT_HALF:
            case CU_AD_FORMAT_FLOAT: kind = cudaChannelFormatKindFloat; break;
            default: break;
        }
        *channels = {widths[0], widths[1], widths[2], widths[3], kind};
        return CUDA_SUCCESS;
    });
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array) {
    return cudaArrayGetInfo(channels, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
    return in_context([&] { return to_array(to, x, y, from, pitch, width, height, kind, {}); });
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return to_array(to, x, y, from, pitch, width, height, kind, {true, stream}); });
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
    return in_context([&] { return from_array(to, pitch, from, x, y, width, height, kind, {}); });
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return from_array(to, pitch, from, x, y, width, height, kind, {true, stream}); });
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, cudaMemcpyKind) {
    return in_context([&] {
        CUDA_MEMCPY3D copy{};
        read_from(copy, from);
        write_to(copy, to);
        copy.srcXInBytes = from_x;
        copy.srcY = from_y;
        copy.dstXInBytes = to_x;
        copy.dstY = to_y;
        copy.WidthInBytes = width;
        copy.Height = height;
        copy.Depth = 1;
        return box(copy, {});
    });
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return in_context([&] { return run_to_array(to, x, y, from, bytes, kind, {}); });
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return run_to_array(to, x, y, from, bytes, kind, {true, stream}); });
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
    return in_context([&] { return run_from_array(to, from, x, y, bytes, kind, {}); });
}
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
    return in_context([&] { return run_from_array(to, from, x, y, bytes, kind, {true, stream}); });
}
