// Copies and fills, in one shape: rows of bytes in planes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/driver.h"

namespace softcuda::driver {

struct Array : Object {  // CUarray: rows of packed elements in device memory; copies only, so far
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    uint64_t base = 0;
    size_t element = 0;  // bytes of one element, all channels

    size_t row() const { return shape.Width * element; }
    size_t rows() const { return shape.Height ? shape.Height : 1; }
    size_t planes() const { return shape.Depth ? shape.Depth : 1; }
    size_t bytes() const { return row() * rows() * planes(); }
};

enum class Place : uint8_t { pageable, pinned, device };  // pinned: host memory that is read when the copy runs

struct Side {
    std::byte* base = nullptr;    // of the first byte copied
    size_t pitch = 0, plane = 0;  // bytes between rows and between planes
    Place place = Place::device;
    std::shared_ptr<void> pages = nullptr;  // kept until the copy has run, whoever frees them
};

struct Copy {
    Side from, to;
    size_t width = 0, height = 1, depth = 1;  // bytes, rows, planes
    bool empty() const { return !width || !height || !depth; }
    size_t bytes() const { return width * height * depth; }
    void execute() const;
};

Side device_side(CUdeviceptr address);
Side host_side(const void* host);
Side array_side(const Array& array, size_t offset, size_t bytes);
// Every byte of a device or array side must be in an allocation: CUDA_ERROR_INVALID_VALUE.
void check(const Side& side, const Copy& copy);
void copy_now(std::shared_ptr<Context> context, const Copy& copy);
void copy_in(std::shared_ptr<Context> context, CUstream stream, Copy copy);

}  // namespace softcuda::driver
