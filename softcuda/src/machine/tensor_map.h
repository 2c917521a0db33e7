// Tensor maps: the 128 bytes that describe a tensor in global memory and the box that a tensor copy moves.
//
// Of the 128 bytes the hardware reads the first 64; behind them the driver notes two numbers of its own.  Both are as an
// H200 and its driver have them: tests/softcuda/hopper holds 6021 recorded maps against this, and the copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/async.h"

namespace softcuda {

inline constexpr uint32_t tensor_map_bytes = 128;

// The order of cuTensorMapEncodeTiled; `tensormap.replace` and the descriptor number types in other orders.
enum class TensorType : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };
inline constexpr uint32_t tensor_types = 13;

// Lists begin with the innermost dimension.  Strides are in bytes, and strides[0] is not the map's own.
struct TensorMap {
    TensorType type = TensorType::u8;
    bool im2col = false;
    uint32_t rank = 1;
    uint64_t address = 0;
    std::array<uint64_t, 5> dims{1, 1, 1, 1, 1}, strides{};
    std::array<uint32_t, 5> steps{1, 1, 1, 1, 1}, box{1, 1, 1, 1, 1};  // tiled: box
    std::array<int32_t, 3> lower{}, upper{};                           // im2col: corners of the bounding box,
    uint32_t channels = 1, pixels = 1;                                 // and what one copy takes
    uint32_t interleave = 0, swizzle = 0, promotion = 0, fill = 0;     // as the driver's enumerations count

    uint32_t element_bytes() const;
    // What dimension 0 counts: elements, or slices of interleaved channels.
    uint32_t unit_bytes() const { return interleave == 0 ? element_bytes() : 16 * interleave; }
    uint32_t swizzle_bytes() const { return swizzle == 0 ? 0 : 16u << swizzle; }
    uint32_t inner_bytes() const { return (im2col ? channels : box[0]) * element_bytes(); }
};

// Why no tensor map has these values, in the driver's words; empty: they are legal.
std::string refusal(const TensorMap& map);
void encode(const TensorMap& map, std::byte* to);  // of legal values
// False: the hardware would not take these bytes for a tensor map, and `why` says so.
bool decode(const std::byte* from, TensorMap& map, std::string& why);

// What tensormap.replace changes.
enum class TensorMapField : uint8_t {
    global_address,
    rank,  // less one
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave_layout,
    swizzle_mode,
    fill_mode
};
// `at`: the dimension, of fields that have one.
void replace(std::byte* map, TensorMapField field, uint32_t at, uint64_t value);

// One copy of a box, row by row, where a row is contiguous in both memories but for the swizzle.  Addresses are the host's.
struct TensorBox {
    struct Row {
        std::byte* global = nullptr;  // of the row's first byte, which may be outside: null if all of it is
        uint32_t begin = 0, end = 0;  // the bytes that are inside
    };
    std::vector<Row> rows;
    uint32_t row_bytes = 0, pitch = 0;  // in shared memory: multiples of 16
    uint32_t swizzle = 0;               // bits of an address above the lowest 7 that change bits 4 and up
    bool fills = false, rounds = false;
    std::byte* shared = nullptr;  // of the block: the swizzle looks at addresses in it
    uint32_t start = 0;           // of the box, in it
    uint32_t limit = 0;           // bytes from here on do not exist
    Reduction reduce = nullptr;

    uint32_t bytes() const { return static_cast<uint32_t>(rows.size()) * row_bytes; }  // what an mbarrier counts
    uint32_t end() const;                                                              // of the shared memory touched
    uint32_t place(uint32_t row, uint32_t byte) const {
        const uint32_t at = start + row * pitch + byte;
        return at ^ (((at >> 7) & swizzle) << 4);
    }
    void load() const;                                // global -> shared
    void gather(std::vector<std::byte>& data) const;  // the box's bytes in shared memory
    void store(const std::byte* data) const;          // data -> global
};

uint64_t box_rows(const TensorMap& map);  // of any box; a wrong map may have more than shared memory has room for
// The rows of the box at these coordinates; `moved`: im2col's offsets.  Stores move whole 16 bytes of a row.
TensorBox box_at(const TensorMap& map, const std::array<int32_t, 5>& at, const std::array<uint16_t, 3>& moved,
                 bool stores);

}  // namespace softcuda
