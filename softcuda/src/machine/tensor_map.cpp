#include "machine/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace softcuda {
namespace {

constexpr uint32_t type_codes[tensor_types] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};  // of the descriptor
constexpr uint32_t type_bytes[tensor_types] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr uint64_t most_shared = 227 * 1024;

uint32_t corner_bits(uint32_t rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }
bool floats(TensorType type) { return type >= TensorType::f16; }
bool rounds_to_tf32(TensorType type) { return type == TensorType::tf32 || type == TensorType::tf32_ftz; }

// The driver's own count of a box, which rounds strided boxes down.
uint64_t noted_bytes(const TensorMap& map) {
    if (map.im2col) return uint64_t(map.channels) * map.pixels * map.element_bytes();
    uint64_t bytes = map.element_bytes();
    for (uint32_t i = 0; i < map.rank; ++i) bytes *= map.box[i] / map.steps[i];
    return bytes;
}

uint32_t bits_of(uint32_t word, uint32_t low, uint32_t count) { return (word >> low) & ((1u << count) - 1); }

void put(std::byte* map, uint32_t word, uint32_t low, uint32_t count, uint64_t value) {
    uint32_t bits;
    std::memcpy(&bits, map + 4 * word, 4);
    const uint32_t mask = (count == 32 ? ~0u : (1u << count) - 1) << low;
    bits = (bits & ~mask) | ((static_cast<uint32_t>(value) << low) & mask);
    std::memcpy(map + 4 * word, &bits, 4);
}

}  // namespace

uint32_t TensorMap::element_bytes() const { return type_bytes[static_cast<size_t>(type)]; }

std::string refusal(const TensorMap& map) {
    auto in_list = [](const char* list, uint32_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; };
    if (static_cast<uint32_t>(map.type) >= tensor_types) return "tensorDataType is none that an H200 knows";
    if (map.interleave > 2) return "interleave is none of NONE, 16B and 32B";
    const uint32_t least = map.im2col || map.interleave ? 3 : 1;
    if (map.rank < least || map.rank > 5)
        return "tensorRank is " + std::to_string(map.rank) + " and has to be " + std::to_string(least) + " to 5";
    if (map.swizzle > 3) return "swizzle is none of NONE, 32B, 64B and 128B";
    if (map.promotion > 3) return "l2Promotion is none of NONE, L2_64B, L2_128B and L2_256B";
    if (map.fill > 1) return "oobFill is none that CUDA knows";
    if (map.fill && !floats(map.type)) return "oobFill of NaN is for floats";
    const uint32_t unit = map.interleave == 2 ? 32 : 16;
    const std::string multiple = " is no multiple of " + std::to_string(unit);
    if (map.address % unit) return "globalAddress" + multiple;
    if (map.address >> 57) return "globalAddress is no address";
    for (uint32_t i = 0; i < map.rank; ++i) {
        if (map.dims[i] == 0 || map.dims[i] > uint64_t(1) << 32)
            return in_list("globalDim", i) + " is " + std::to_string(map.dims[i]) + " and has to be 1 to 2^32";
        if (map.steps[i] < 1 || map.steps[i] > 8)
            return in_list("elementStrides", i) + " is " + std::to_string(map.steps[i]) + " and has to be 1 to 8";
    }
    for (uint32_t i = 1; i < map.rank; ++i) {
        if (map.strides[i] % unit)
            return in_list("globalStrides", i - 1) + " is " + std::to_string(map.strides[i]) + " bytes, which" +
                   multiple;
        if (map.strides[i] >> 40) return in_list("globalStrides", i - 1) + " has to be less than 2^40 bytes";
    }
    if (map.im2col) {
        const int64_t reach = int64_t(1) << (corner_bits(map.rank) - 1);
        for (uint32_t i = 0; i + 2 < map.rank; ++i) {
            for (const int64_t corner : {map.lower[i], map.upper[i]})
                if (corner < -reach || corner >= reach)
                    return "corner " + std::to_string(corner) + " of the pixel box has to be " +
                           std::to_string(-reach) + " to " + std::to_string(reach - 1) + " with this rank";
            const uint64_t span = map.dims[i + 1] + uint64_t(int64_t(map.upper[i]) - map.lower[i]);
            if (static_cast<int32_t>(static_cast<uint32_t>(span)) <= 0)  // the driver counts in 32 bits
                return "no pixel is left between the corners of dimension " + std::to_string(i + 1);
        }
        if (map.channels < 1 || map.channels > 256)
            return "channelsPerPixel is " + std::to_string(map.channels) + " and has to be 1 to 256";
        if (map.pixels < 1 || map.pixels > 1024)
            return "pixelsPerColumn is " + std::to_string(map.pixels) + " and has to be 1 to 1024";
    } else {
        for (uint32_t i = 0; i < map.rank; ++i)
            if (map.box[i] < 1 || map.box[i] > 256)
                return in_list("boxDim", i) + " is " + std::to_string(map.box[i]) + " and has to be 1 to 256";
    }
    const char* inner = map.im2col ? "channelsPerPixel" : "boxDim[0]";
    if (map.inner_bytes() % 16)
        return std::string(inner) + " is " + std::to_string(map.inner_bytes()) + " bytes, which is no multiple of 16";
    if (!map.interleave && map.swizzle && map.inner_bytes() > map.swizzle_bytes())
        return std::string(inner) + " is " + std::to_string(map.inner_bytes()) + " bytes, more than the swizzle's " +
               std::to_string(map.swizzle_bytes());
    if (noted_bytes(map) > most_shared)
        return "the box has " + std::to_string(noted_bytes(map)) + " bytes, more than a block's shared memory";
    return "";
}

void encode(const TensorMap& map, std::byte* to) {
    uint32_t words[32] = {};
    words[0] = static_cast<uint32_t>(map.address), words[1] = static_cast<uint32_t>(map.address >> 32);
    words[2] = uint32_t(map.im2col) | (map.rank - 1) << 4 | type_codes[static_cast<size_t>(map.type)] << 7 |
               map.interleave << 11 | map.swizzle << 13 | map.fill << 15 | uint32_t(rounds_to_tf32(map.type)) << 16 |
               map.promotion << 17;
    for (uint32_t i = 1; i < map.rank; ++i) {
        words[2 + i] = static_cast<uint32_t>(map.strides[i] >> 4);
        words[7] |= static_cast<uint32_t>(map.strides[i] >> 36) << (4 * (i - 1));
    }
    for (uint32_t i = 0; i < map.rank; ++i) {
        words[8 + i] = static_cast<uint32_t>(map.dims[i] - 1);
        words[13] |= (map.steps[i] - 1) << (3 * i);
    }
    words[13] |= ((map.im2col ? map.channels : map.box[0]) - 1) << 24;
    if (map.im2col) {
        const uint32_t bits = corner_bits(map.rank), mask = (1u << bits) - 1;
        for (uint32_t i = 0; i + 2 < map.rank; ++i)
            words[14] |= (static_cast<uint32_t>(map.lower[i]) & mask) << (bits * i) |
                         (static_cast<uint32_t>(map.upper[i]) & mask) << (bits * i + 16);
        words[15] = map.pixels - 1;
    } else {
        for (uint32_t i = 1; i < map.rank; ++i) words[14] |= (map.box[i] - 1) << (8 * (i - 1));
    }
    words[16] = static_cast<uint32_t>(noted_bytes(map));
    words[18] = map.swizzle ? 8 * map.swizzle_bytes() : 16;
    std::memcpy(to, words, sizeof words);
}

bool decode(const std::byte* from, TensorMap& map, std::string& why) {
    uint32_t words[16];
    std::memcpy(words, from, sizeof words);
    map = TensorMap();
    map.im2col = words[2] & 1;
    map.rank = bits_of(words[2], 4, 3) + 1;
    const uint32_t code = bits_of(words[2], 7, 4), tf32 = bits_of(words[2], 16, 1);
    uint32_t type = 0;
    while (type < tensor_types &&
           (type_codes[type] != code || rounds_to_tf32(static_cast<TensorType>(type)) != (tf32 != 0)))
        ++type;
    why = "these 128 bytes are no tensor map";
    if (type == tensor_types || map.rank > 5 || (words[2] & 0xfff8000e) || (words[13] & 0x00ff8000)) return false;
    map.type = static_cast<TensorType>(type);
    map.interleave = bits_of(words[2], 11, 2), map.swizzle = bits_of(words[2], 13, 2);
    map.fill = bits_of(words[2], 15, 1), map.promotion = bits_of(words[2], 17, 2);
    map.address = uint64_t(words[1]) << 32 | words[0];
    for (uint32_t i = 0; i < map.rank; ++i) {
        map.dims[i] = uint64_t(words[8 + i]) + 1;
        map.steps[i] = bits_of(words[13], 3 * i, 3) + 1;
        if (i > 0) map.strides[i] = (uint64_t(bits_of(words[7], 4 * (i - 1), 4)) << 32 | words[2 + i]) << 4;
    }
    const uint32_t inner = (words[13] >> 24) + 1;
    if (map.im2col) {
        if (map.rank < 3) return false;
        map.channels = inner;
        map.pixels = words[15] + 1;
        const uint32_t bits = corner_bits(map.rank), rest = 32 - bits;
        for (uint32_t i = 0; i + 2 < map.rank; ++i) {
            map.lower[i] = static_cast<int32_t>((words[14] >> (bits * i)) << rest) >> rest;
            map.upper[i] = static_cast<int32_t>((words[14] >> (16 + bits * i)) << rest) >> rest;
        }
    } else {
        map.box[0] = inner;
        for (uint32_t i = 1; i < map.rank; ++i) map.box[i] = bits_of(words[14], 8 * (i - 1), 8) + 1;
    }
    map.strides[0] = map.unit_bytes();
    const std::string refused = refusal(map);
    if (!refused.empty()) why = "the tensor map is none: " + refused;
    return refused.empty();
}

void replace(std::byte* map, TensorMapField field, uint32_t at, uint64_t value) {
    using Name = TensorMapField;
    switch (field) {
        case Name::global_address: put(map, 0, 0, 32, value), put(map, 1, 0, 32, value >> 32); break;
        case Name::rank: put(map, 2, 4, 3, value); break;
        case Name::box_dim: at == 0 ? put(map, 13, 24, 8, value - 1) : put(map, 14, 8 * (at - 1), 8, value - 1); break;
        case Name::global_dim: put(map, 8 + at, 0, 32, value - 1); break;
        case Name::global_stride: put(map, 3 + at, 0, 32, value >> 4), put(map, 7, 4 * at, 4, value >> 36); break;
        case Name::element_stride: put(map, 13, 3 * at, 3, value - 1); break;
        case Name::elemtype:  // in the order of the descriptor's codes, TF32 last
            put(map, 2, 7, 4, value < 11 ? value : value - 4);
            put(map, 2, 16, 1, value >= 11);
            break;
        case Name::interleave_layout: put(map, 2, 11, 2, value); break;
        case Name::swizzle_mode: put(map, 2, 13, 2, value); break;
        case Name::fill_mode: put(map, 2, 15, 1, value); break;
    }
}

// --- boxes

namespace {

// Every TF32 load rounds to nearest, subnormals too, and has one NaN.
uint32_t rounded_to_tf32(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
    return (word + 0x1000) & 0xffffe000;
}

struct RowMaker {
    const TensorMap& map;
    bool stores;
    TensorBox& box;

    // A row of `units` (elements or slices) from coordinate c[0] on.
    void add(const std::array<int64_t, 5>& c, uint32_t units) {
        const int64_t size = map.unit_bytes();
        uint64_t place = map.address + static_cast<uint64_t>(c[0] * size);
        TensorBox::Row row;
        bool inside = true;
        for (uint32_t d = 1; d < map.rank; ++d) {
            inside = inside && c[d] >= 0 && static_cast<uint64_t>(c[d]) < map.dims[d];
            place += static_cast<uint64_t>(c[d]) * map.strides[d];
        }
        int64_t end = static_cast<int64_t>(map.dims[0]) * size;
        if (stores) end = (end + 15) / 16 * 16;  // the hardware writes the whole 16 bytes that the tensor ends in
        const int64_t first = c[0] * size, bytes = int64_t(units) * size;
        const int64_t low = std::clamp<int64_t>(-first, 0, bytes), high = std::clamp<int64_t>(end - first, 0, bytes);
        if (inside && low < high) {
            row.global = reinterpret_cast<std::byte*>(place);
            row.begin = static_cast<uint32_t>(low), row.end = static_cast<uint32_t>(high);
        }
        box.rows.push_back(row);
    }
};

}  // namespace

uint64_t box_rows(const TensorMap& map) {
    if (map.im2col) return map.pixels;
    uint64_t rows = 1;
    for (uint32_t d = 1; d < map.rank; ++d)
        if (!map.interleave || d != map.rank - 2) rows *= (map.box[d] + map.steps[d] - 1) / map.steps[d];
    return rows;
}

TensorBox box_at(const TensorMap& map, const std::array<int32_t, 5>& at, const std::array<uint16_t, 3>& moved,
                 bool stores) {
    TensorBox box;
    RowMaker rows{map, stores, box};
    const uint32_t first = map.interleave ? 0 : 1;  // of the dimensions of a pixel
    const uint32_t units = map.im2col ? (map.interleave ? 1 : map.channels) : map.box[0];
    box.row_bytes = units * map.unit_bytes();
    box.pitch = map.interleave ? box.row_bytes : std::max(box.row_bytes, map.swizzle_bytes());
    box.swizzle = map.swizzle ? (1u << map.swizzle) - 1 : 0;
    box.fills = map.fill, box.rounds = rounds_to_tf32(map.type) && !stores;
    std::array<int64_t, 5> c{};
    for (uint32_t d = 0; d < map.rank; ++d) c[d] = at[d];
    if (map.im2col) {
        const uint32_t spatial = map.rank - 2;
        for (uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
            std::array<int64_t, 5> shifted = c;
            for (uint32_t i = 0; i < spatial; ++i) shifted[first + i] += moved[i];
            rows.add(shifted, units);
            uint32_t i = 0;
            for (; i < spatial; ++i) {
                const uint32_t d = first + i;
                c[d] += map.steps[d];
                if (c[d] < static_cast<int64_t>(map.dims[d]) + map.upper[i]) break;
                c[d] = map.lower[i];
            }
            if (i == spatial) ++c[map.rank - 1];
        }
        return box;
    }
    std::array<uint32_t, 5> counts{1, 1, 1, 1, 1}, index{};
    for (uint32_t d = 1; d < map.rank; ++d) counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    if (map.interleave) counts[map.rank - 2] = 1;  // one slice of channels
    for (;;) {
        std::array<int64_t, 5> here = c;
        for (uint32_t d = 1; d < map.rank; ++d) here[d] += int64_t(index[d]) * map.steps[d];
        rows.add(here, units);
        uint32_t d = 1;
        while (d < map.rank && ++index[d] == counts[d]) index[d++] = 0;
        if (d >= map.rank) return box;
    }
}

uint32_t TensorBox::end() const {
    // A row that the swizzle spreads stays within its 128 bytes.
    uint32_t last = 0;
    for (uint32_t row = 0; row < rows.size(); ++row)
        for (uint32_t byte = 0; byte < row_bytes; byte += 16) last = std::max(last, place(row, byte) + 16);
    return last;
}

void TensorBox::load() const {
    const uint16_t outside = fills ? 0x7ff7 : 0;
    alignas(16) std::byte piece[16];
    for (uint32_t row = 0; row < rows.size(); ++row) {
        const Row& from = rows[row];
        for (uint32_t byte = 0; byte < row_bytes; byte += 16) {
            const uint32_t to = place(row, byte);
            if (to >= limit) continue;
            const uint32_t low = std::max(from.begin, byte), high = std::min(from.end, byte + 16);
            if (low > byte || high < byte + 16)
                for (uint32_t k = 0; k < 16; k += 2) std::memcpy(piece + k, &outside, 2);
            if (from.global && low < high) {
                std::memcpy(piece + (low - byte), from.global + low, high - low);
                if (rounds)
                    for (uint32_t k = low - byte; k < high - byte; k += 4) {
                        uint32_t word;
                        std::memcpy(&word, piece + k, 4);
                        word = rounded_to_tf32(word);
                        std::memcpy(piece + k, &word, 4);
                    }
            }
            std::memcpy(shared + to, piece, std::min<uint32_t>(16, limit - to));
        }
    }
}

void TensorBox::gather(std::vector<std::byte>& data) const {
    data.resize(bytes());
    for (uint32_t row = 0; row < rows.size(); ++row)
        for (uint32_t byte = 0; byte < row_bytes; byte += 16)
            std::memcpy(data.data() + row * row_bytes + byte, shared + place(row, byte), 16);
}

void TensorBox::store(const std::byte* data) const {
    for (uint32_t row = 0; row < rows.size(); ++row) {
        const Row& to = rows[row];
        if (!to.global) continue;
        const std::byte* from = data + row * row_bytes + to.begin;
        if (reduce)
            reduce(to.global + to.begin, from, to.end - to.begin);
        else
            std::memcpy(to.global + to.begin, from, to.end - to.begin);
    }
}

}  // namespace softcuda
