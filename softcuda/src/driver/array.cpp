// CUarray: memory of a shape.  Copies work; texture and surface access does not, yet.
#include "driver/copy.h"

using namespace softcuda::driver;

namespace {

size_t bytes_of(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8: return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF: return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT: return 4;
        default: return 0;
    }
}

CUarray create(const std::shared_ptr<Context>& context, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    auto array = std::make_shared<Array>();
    array->shape = shape;
    array->element = bytes_of(shape.Format) * shape.NumChannels;
    require(array->element && (shape.NumChannels == 1 || shape.NumChannels == 2 || shape.NumChannels == 4));
    require(shape.Width && (shape.Height || !shape.Depth || shape.Flags & CUDA_ARRAY3D_LAYERED));
    require(shape.Width <= 1 << 28 && shape.Height <= 1 << 20 && shape.Depth <= 1 << 16);
    if (shape.Flags & ~unsigned(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER))
        fail(CUDA_ERROR_NOT_SUPPORTED,
             "cuArray3DCreate: of the flags only LAYERED, SURFACE_LDST and TEXTURE_GATHER "
             "are supported");
    array->context = context->serial;
    array->base =
        device().memory.allocate(array->bytes(), softcuda::MemoryKind::device, "cuArrayCreate", 256, context->serial);
    return handles().add<CUarray>(array);
}

}  // namespace

CUresult cuArray3DCreate_v2(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    return in_context([&](auto& context) {
        require(handle && shape);
        *handle = create(context, *shape);
    });
}

CUresult cuArrayCreate_v2(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* shape) {
    return in_context([&](auto& context) {
        require(handle && shape);
        *handle = create(context, {shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0});
    });
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* shape, CUarray handle) {
    return in_context([&](auto&) {
        require(shape);
        *shape = find<Array>(handle)->shape;
    });
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* shape, CUarray handle) {
    return in_context([&](auto&) {
        require(shape);
        auto full = find<Array>(handle)->shape;
        *shape = {full.Width, full.Height, full.Format, full.NumChannels};
    });
}

CUresult cuArrayDestroy(CUarray handle) {
    return in_context([&](auto& context) {
        auto array = find<Array>(handle);
        synchronize(context);
        device().memory.release(array->base);
        handles().remove(handle);
    });
}
