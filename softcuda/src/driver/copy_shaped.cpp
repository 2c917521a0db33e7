// cuMemcpy2D, cuMemcpy3D and their relatives: boxes of bytes between host memory, device memory and arrays.
#include "driver/copy.h"

using namespace softcuda::driver;

namespace {

struct End {  // one end of a CUDA_MEMCPY2D, CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER
    size_t x, y, z, level;
    CUmemorytype type;
    const void* host;
    CUdeviceptr address;
    CUarray array;
    size_t pitch, height;
};

template <class Descriptor>
End source(const Descriptor& d) {
    End end{d.srcXInBytes, d.srcY, 0, 0, d.srcMemoryType, d.srcHost, d.srcDevice, d.srcArray, d.srcPitch, 0};
    if constexpr (requires { d.srcZ; }) {
        end.z = d.srcZ;
        end.level = d.srcLOD;
        end.height = d.srcHeight;
    }
    return end;
}

template <class Descriptor>
End target(const Descriptor& d) {
    End end{d.dstXInBytes, d.dstY, 0, 0, d.dstMemoryType, d.dstHost, d.dstDevice, d.dstArray, d.dstPitch, 0};
    if constexpr (requires { d.dstZ; }) {
        end.z = d.dstZ;
        end.level = d.dstLOD;
        end.height = d.dstHeight;
    }
    return end;
}

Side resolve(const End& end, const Copy& copy) {
    require(end.level == 0);
    require(copy.width <= SIZE_MAX / 4 && end.x <= SIZE_MAX / 4);
    Side side;
    size_t row = end.x + copy.width, rows = end.y + copy.height;
    if (end.type == CU_MEMORYTYPE_ARRAY) {
        auto array = find<Array>(end.array);
        require(row <= array->row() && rows <= array->rows() && end.z + copy.depth <= array->planes());
        side = array_side(*array, 0, 0);
        side.pitch = array->row();
        side.plane = side.pitch * array->rows();
    } else {
        if (end.type == CU_MEMORYTYPE_HOST)
            side = host_side(end.host);
        else if (end.type == CU_MEMORYTYPE_DEVICE)
            side = device_side(end.address);
        else {
            require(end.type == CU_MEMORYTYPE_UNIFIED);
            side = host_side(reinterpret_cast<void*>(end.address));
            if (side.place == Place::pinned) side = device_side(end.address);
        }
        if (copy.empty()) return side;
        require(side.base);
        require(end.pitch >= row || (end.pitch == 0 && rows == 1));
        require(copy.depth == 1 || end.height >= rows);
        side.pitch = end.pitch;
        require(!__builtin_mul_overflow(end.pitch, end.height, &side.plane));
    }
    size_t offset = end.x;
    for (auto [count, step] : {std::pair(end.y, side.pitch), std::pair(end.z, side.plane)}) {
        size_t part;
        require(!__builtin_mul_overflow(count, step, &part) && !__builtin_add_overflow(offset, part, &offset));
    }
    side.base += offset;
    return side;
}

template <class Descriptor>
Copy box(const Descriptor* d) {
    require(d);
    Copy copy;
    copy.width = d->WidthInBytes;
    copy.height = d->Height;
    if constexpr (requires { d->Depth; }) copy.depth = d->Depth;
    End from = source(*d), to = target(*d);
    if (from.type == CU_MEMORYTYPE_UNIFIED && from.host && !from.address)
        from.address = reinterpret_cast<CUdeviceptr>(from.host);  // PyCUDA fills in srcHost for unified addresses
    if (to.type == CU_MEMORYTYPE_UNIFIED && to.host && !to.address) to.address = reinterpret_cast<CUdeviceptr>(to.host);
    copy.from = resolve(from, copy);
    copy.to = resolve(to, copy);
    return copy;
}

template <class Descriptor>
CUresult now(const Descriptor* d) {
    return in_context([&](auto& context) { copy_now(context, box(d)); });
}

template <class Descriptor>
CUresult later(const Descriptor* d, CUstream stream) {
    return in_context([&](auto& context) { copy_in(context, stream, box(d)); });
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return now(copy); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return now(copy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return later(copy, stream); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return now(copy); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) { return later(copy, stream); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return now(copy); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) { return later(copy, stream); }
