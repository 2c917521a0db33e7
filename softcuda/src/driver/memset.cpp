// cuMemsetD*: fills, in stream order; the host does not wait.
#include <algorithm>

#include "driver/copy.h"
#include "machine/observer.h"

using namespace softcuda::driver;

namespace {

template <class T>
void fill(std::shared_ptr<Context> context, CUstream handle, CUdeviceptr address, size_t pitch, T value, size_t width,
          size_t height) {
    require(address % sizeof(T) == 0);
    size_t row;
    require(!__builtin_mul_overflow(width, sizeof(T), &row));
    require(height <= 1 || (pitch >= row && pitch % sizeof(T) == 0));
    auto stream = stream_of(context, handle);
    Copy shape{.from = Side{}, .to = device_side(address), .width = row, .height = height};
    shape.to.pitch = pitch;
    check(shape.to, shape);
    if (shape.empty()) return;
    auto* observer = context->gpu->machine.observer();
    Scheduler::get().submit(context, *stream, Engine::copy, [=, pages = shape.to.pages] {
        for (size_t y = 0; y < height; ++y) {
            if (observer) observer->written(address + y * pitch, row);
            std::fill_n(reinterpret_cast<T*>(address + y * pitch), width, value);
        }
    });
}

template <class T>
CUresult flat(CUdeviceptr address, T value, size_t count, CUstream stream = nullptr) {
    return in_context([&](auto& context) { fill(context, stream, address, 0, value, count, 1); });
}

template <class T>
CUresult rows(CUdeviceptr address, size_t pitch, T value, size_t width, size_t height, CUstream stream = nullptr) {
    return in_context([&](auto& context) { fill(context, stream, address, pitch, value, width, height); });
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) { return flat(address, value, count); }
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) { return flat(address, value, count); }
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count) { return flat(address, value, count); }
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
    return flat(address, value, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
    return flat(address, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
    return flat(address, value, count, stream);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height) {
    return rows(address, pitch, value, width, height);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height) {
    return rows(address, pitch, value, width, height);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned value, size_t width, size_t height) {
    return rows(address, pitch, value, width, height);
}
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
    return rows(address, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
    return rows(address, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
    return rows(address, pitch, value, width, height, stream);
}
