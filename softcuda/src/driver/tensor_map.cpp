// Tensor maps: what the host describes of a tensor for copies by the Tensor Memory Accelerator.
#include "machine/tensor_map.h"

#include <algorithm>

#include "driver/driver.h"

using namespace softcuda::driver;

namespace {

[[noreturn]] void refuse(const char* call, const std::string& why) {
    fail(CUDA_ERROR_INVALID_VALUE, std::string(call) + ": " + why);
}

// What both ways to describe a box have in common; arrays are read as far as the rank allows.
softcuda::TensorMap common(const char* call, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* steps,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    if (static_cast<uint32_t>(type) >= softcuda::tensor_types)
        refuse(call,
               "tensorDataType " + std::to_string(static_cast<int>(type)) + " is none that compute capability 9.0 has");
    if (rank < 1 || rank > 5) refuse(call, "tensorRank is " + std::to_string(rank) + " and has to be 1 to 5");
    if (!dims || !steps || (rank > 1 && !strides)) refuse(call, "a null pointer in place of an array");
    softcuda::TensorMap map;
    map.type = static_cast<softcuda::TensorType>(type);
    map.rank = rank;
    map.address = reinterpret_cast<uint64_t>(address);
    std::copy_n(dims, rank, map.dims.begin());
    std::copy_n(steps, rank, map.steps.begin());
    if (rank > 1) std::copy_n(strides, rank - 1, map.strides.begin() + 1);
    map.interleave = static_cast<uint32_t>(interleave), map.swizzle = static_cast<uint32_t>(swizzle);
    map.promotion = static_cast<uint32_t>(promotion), map.fill = static_cast<uint32_t>(fill);
    return map;
}

void write(const char* call, const softcuda::TensorMap& map, CUtensorMap* to) {
    const std::string why = softcuda::refusal(map);
    if (!why.empty()) refuse(call, why);
    softcuda::encode(map, reinterpret_cast<std::byte*>(to));
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    const char* const call = __func__;
    return with_device([&](Device&) {
        if (!to || !box) refuse(call, "a null pointer in place of the tensor map or boxDim");
        softcuda::TensorMap map =
            common(call, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
        std::copy_n(box, rank, map.box.begin());
        write(call, map, to);
    });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* dims, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    const char* const call = __func__;
    return with_device([&](Device&) {
        if (!to || !lower || !upper) refuse(call, "a null pointer in place of the tensor map or of a corner");
        softcuda::TensorMap map =
            common(call, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
        map.im2col = true;
        map.channels = channels, map.pixels = pixels;
        if (rank > 2) std::copy_n(lower, rank - 2, map.lower.begin()), std::copy_n(upper, rank - 2, map.upper.begin());
        write(call, map, to);
    });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
    const char* const call = __func__;
    return with_device([&](Device&) {
        const auto bits = reinterpret_cast<uint64_t>(address);
        if (!map) refuse(call, "a null pointer in place of the tensor map");
        if (bits == 0 || bits % 16 || bits >> 57)
            refuse(call, "globalAddress has to be an address, and a multiple of 16");
        softcuda::replace(reinterpret_cast<std::byte*>(map), softcuda::TensorMapField::global_address, 0, bits);
    });
}
