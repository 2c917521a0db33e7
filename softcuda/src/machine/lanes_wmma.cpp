// wmma.load, wmma.store and wmma.mma: matrices in memory, fragments in registers, and their products.
//
// PTX leaves the fragments open; on hardware (measured on an H200, whatever the layout in memory) they are those of mma's
// 16x8 tiles (matrix.h), one behind the other:
//   m16n16  A is one tile's; B and C are the left columns' and the right ones'
//   m32n8   A and C are the upper rows' and the lower ones'; B is one tile's
//   m8n32   all is transposed: B is as A of m32n8, A as B, C as C
//   8x8     A, B and C are those of mma
// The f16 fragments of A and B have eight registers; where four or two would do, the rest are copies.
#include "machine/access.h"
#include "machine/matrix.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

struct Shape {
    int m, n, k;
    bool transposed() const { return m == 8 && n == 32; }
    bool small() const { return m == 8 && n == 8; }
};
Shape take_shape(Decoder& decoder) {
    constexpr Shape shapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8},
                                {8, 8, 4},    {8, 8, 32},  {8, 8, 128}};
    const int which =
        decoder.take_one({"m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", "m8n8k32", "m8n8k128"});
    if (which < 0) refuse(decoder, "no such shape");
    return shapes[which];
}
// Is this the depth of products of such elements?
bool fits(const Shape& shape, Element type) {
    switch (type) {
        case Element::f16:
        case Element::bf16:
        case Element::s8:
        case Element::u8: return shape.k == 16;
        case Element::tf32: return shape.k == 8;
        case Element::f64: return shape.k == 4;
        case Element::s4:
        case Element::u4: return shape.k == 32;
        case Element::b1: return shape.k == 128;
        default: return false;
    }
}

// --- which element of its matrix each part of a register is
enum class Role : uint8_t { a, b, sum };
struct Place {
    int row, column;
};
// `in_register` elements a register; part e of register r.
Place place(Role role, const Shape& shape, int in_register, int r, int lane, int e) {
    const int g = lane / 4, t = lane % 4;
    const int step = 4 * in_register;
    const bool transposed = shape.transposed();
    const int tile_rows = shape.small() ? 8 : 16;
    if (role == Role::sum) {
        const int outer = transposed ? shape.n : shape.m;
        const int in_tile = tile_rows * 2 / 8 / in_register, tile = r / in_tile, i = r % in_tile;
        const int row = g + 8 * (in_register == 2 ? i : i / 2), column = 2 * t + (in_register == 2 ? e : i % 2);
        const Place p = outer == 32 ? Place{row + 16 * tile, column} : Place{row, column + 8 * tile};
        return transposed ? Place{p.column, p.row} : p;
    }
    const int deep = shape.k / step;  // registers one behind the other along k
    if ((role == Role::a) != transposed) {
        const int outer = transposed ? shape.n : shape.m, halves = tile_rows / 8, in_tile = halves * deep;
        const int tile = r / in_tile % (outer / tile_rows), i = r % in_tile;
        const Place p{tile_rows * tile + g + 8 * (i % halves), step * (i / halves) + in_register * t + e};
        return transposed ? Place{p.column, p.row} : p;
    }
    const int outer = transposed ? shape.m : shape.n;
    const Place p{step * (r % deep) + in_register * t + e, 8 * (r / deep % (outer / 8)) + g};
    return transposed ? Place{p.column, p.row} : p;
}

// Registers of a fragment of A or B; f16's are always eight.
int factor_registers(Role role, const Shape& shape, Element type) {
    if (type == Element::f16) return 8;
    return (role == Role::a ? shape.m : shape.n) / 8 * shape.k / (4 * elements_in_register(type));
}

// --- load and store
// One access of all lanes: how far from the matrix's beginning, as steps of the leading dimension and within.
struct Piece {
    std::array<uint16_t, warp_size> major, minor;
    uint32_t row;  // of the register
    int offset;    // of the access in it, in bytes
};
struct Transfer {
    Op base, access;                  // the matrix's address, and each lane's
    uint32_t stride = 0;              // row of the leading dimension, if it is given
    uint32_t dense = 0;               // … and else the leading dimension
    int bits, bytes, register_bytes;  // of an element, of an access, of a register
    std::vector<Piece> pieces;
};

template <bool stores>
void run_transfer(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& transfer = *reinterpret_cast<const Transfer*>(op.imm);
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "moving matrices needs all 32 lanes");
    Addresses where;
    effective(warp, transfer.base, all_lanes, where.at);
    const uint64_t base = where.at[0];  // the same for all lanes
    const uint64_t leading = transfer.stride ? warp.row<uint32_t>(transfer.stride)[0] : transfer.dense;
    uint64_t* at = warp.row<uint64_t>(transfer.access.a);
    for (const Piece& piece : transfer.pieces) {
        for (int i = 0; i < warp_size; ++i)
            at[i] = base + (piece.major[size_t(i)] * leading + piece.minor[size_t(i)]) * uint64_t(transfer.bits) / 8;
        resolve_any(warp, transfer.access, all_lanes, uint64_t(transfer.bytes), stores ? Access::store : Access::load,
                    where.at);
        auto* registers = warp.row<std::byte>(piece.row) + piece.offset;
        for (int i = 0; i < warp_size; ++i) {
            auto* memory = reinterpret_cast<std::byte*>(where.at[i]);
            std::byte* mine = registers + transfer.register_bytes * i;
            auto copy = [&](auto word) {
                std::memcpy(&word, stores ? mine : memory, sizeof word);
                std::memcpy(stores ? memory : mine, &word, sizeof word);
            };
            switch (transfer.bytes) {
                case 1: copy(uint8_t()); break;
                case 2: copy(uint16_t()); break;
                case 4: copy(uint32_t()); break;
                default: copy(uint64_t());
            }
        }
    }
}

// wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {registers}, [p], stride
// wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [p], {registers}, stride
void decode_transfer(Decoder& decoder, bool stores) {
    const int which = stores ? (decoder.take("d") ? 2 : -1) : decoder.take_one({"a", "b", "c"});
    if (which < 0) refuse(decoder, "no such matrix");
    const Role role = which == 0 ? Role::a : which == 1 ? Role::b : Role::sum;
    if (!decoder.take("sync")) refuse(decoder, "wmma is .sync");
    decoder.take("aligned");
    const int layout = decoder.take_one({"row", "col"});
    if (layout < 0) refuse(decoder, "the layout is missing");
    const bool by_row = layout == 0;
    const Shape shape = take_shape(decoder);
    const Region region = take_region(decoder);
    if (region != Region::global && region != Region::shared && region != Region::generic)
        refuse(decoder, "matrices lie in global or shared memory");
    const std::vector<std::string> types = take_types(decoder);
    if (types.size() != 1) refuse(decoder, "one type is due");
    auto transfer = std::make_shared<Transfer>();
    int registers;
    if (role == Role::sum) {
        const std::string& type = types[0];
        const bool known = type == "f16"   ? shape.k == 16
                           : type == "f32" ? shape.k == 16 || shape.k == 8
                           : type == "s32" ? shape.k == 16 || shape.k >= 32
                                           : type == "f64" && shape.k == 4;
        if (!known) refuse(decoder, "no such sums of this shape");
        transfer->bits = type == "f16" ? 16 : type == "f64" ? 64 : 32;
        registers = shape.m * shape.n / warp_size / (type == "f16" ? 2 : 1);
    } else {
        const Element type = element_named(types[0]);
        if (!fits(shape, type)) refuse(decoder, "no such elements of this shape");
        transfer->bits = element_bits(type);
        if (transfer->bits < 8 && by_row != (role == Role::a))
            refuse(decoder, "small elements are .row in a, .col in b");
        registers = factor_registers(role, shape, type);
    }
    const Type word = transfer->bits == 64 ? Type::b64 : Type::b32;
    transfer->register_bytes = word == Type::b64 ? 8 : 4;
    const int in_register = transfer->bits >= 32 ? 1 : 32 / transfer->bits;
    const size_t place_of_address = stores ? 0 : 1;
    std::array<uint32_t, 8> rows;
    take_rows(decoder, 1 - place_of_address, !stores, word, size_t(registers), rows.data());
    const Address address = decoder.address(place_of_address, space_name(region));
    if (address.kind != Address::Kind::row) refuse(decoder, "matrices lie in global or shared memory");
    const int height = role == Role::b ? shape.k : shape.m, width = role == Role::a ? shape.k : shape.n;
    transfer->dense = uint32_t(by_row ? width : height);
    if (decoder.count() > 3) refuse(decoder, "too many operands");
    if (decoder.count() == 3) transfer->stride = decoder.source(2, Type::b32).offset;

    auto in_memory = [&](int r, int lane, int e) {
        const Place p = place(role, shape, in_register, r, lane, e);
        return by_row ? p : Place{p.column, p.row};  // steps of the leading dimension, and within
    };
    // The elements of a register may be neighbours in memory too: then they are one access.
    const Place first = in_memory(0, 0, 0), last = in_memory(0, 0, in_register - 1);
    const bool together = first.row == last.row && last.column - first.column == in_register - 1;
    const int parts = together ? 1 : in_register;
    transfer->bytes = transfer->register_bytes / parts;
    for (int r = 0; r < registers; ++r) {
        for (int e = 0; e < parts; ++e) {
            Piece piece{};
            piece.row = rows[size_t(r)], piece.offset = e * transfer->bytes;
            for (int lane = 0; lane < warp_size; ++lane) {
                const Place p = in_memory(r, lane, e);
                piece.major[size_t(lane)] = uint16_t(p.row), piece.minor[size_t(lane)] = uint16_t(p.column);
            }
            transfer->pieces.push_back(piece);
        }
    }
    const Row addresses = decoder.scratch(8);
    Op& op = decoder.emit(stores ? run_transfer<true> : run_transfer<false>);
    transfer->base = op;
    set_address(transfer->base, address, region);
    transfer->access = op;
    set_address(transfer->access, Address{Address::Kind::row, addresses, 0, {}}, region);
    op.flow = Flow::meet;                                          // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(decoder.keep(transfer));  // not op.extra: there `meet` looks for a MeetShape
}

// --- the product
// wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c
// wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d, a, b, c
void decode_product(Decoder& decoder) {
    Tile tile;
    const int operation = decoder.take_one({"xor", "and"});
    const bool counts = decoder.take("popc");
    if (!decoder.take("sync")) refuse(decoder, "wmma is .sync");
    decoder.take("aligned");
    const auto [a_by_row, b_by_row] = take_layouts(decoder);  // fragments are the same for all
    const Shape shape = take_shape(decoder);
    const int rounding = decoder.take_one({"rn", "rz", "rm", "rp"});
    tile.rounding = rounding > 0 ? rounding : 0;
    tile.saturate = decoder.take("satfinite");
    std::vector<std::string> types = take_types(decoder);
    if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};  // of f16 only the sums are named
    if (types.size() != 4) refuse(decoder, "types of d and c, or of all four, are due");
    tile.a_type = element_named(types[1]), tile.b_type = element_named(types[2]);
    const bool whole = is_integer(tile.a_type), bits = tile.a_type == Element::b1;
    if (!fits(shape, tile.a_type) || !same_kind(tile.a_type, tile.b_type)) refuse(decoder, "no such elements");
    if (element_bits(tile.a_type) < 8 && !(a_by_row && !b_by_row)) refuse(decoder, "small elements are .row.col");
    if (bits != (operation >= 0) || bits != counts) refuse(decoder, "bits are multiplied by .xor.popc or .and.popc");
    tile.exclusive = operation == 0;
    if (tile.saturate && !whole) refuse(decoder, ".satfinite is for integers");
    if (rounding >= 0 && tile.a_type != Element::f64) refuse(decoder, "a rounding is for .f64");

    const char* sum = tile.a_type == Element::f64 ? "f64" : whole || bits ? "s32" : "f32";
    for (const std::string& type : {types[0], types[3]})
        if (type != sum && !(type == "f16" && tile.a_type == Element::f16)) refuse(decoder, "no such result");
    tile.half_result = types[0] == "f16", tile.half_addend = types[3] == "f16";

    const Type word = tile.a_type == Element::f64 ? Type::b64 : Type::b32;
    std::array<uint32_t, 8> a{}, b{}, c{}, d{};
    const int sums = shape.m * shape.n / warp_size;
    take_rows(decoder, 0, true, word, size_t(tile.half_result ? sums / 2 : sums), d.data());
    take_rows(decoder, 1, false, word, size_t(factor_registers(Role::a, shape, tile.a_type)), a.data());
    take_rows(decoder, 2, false, word, size_t(factor_registers(Role::b, shape, tile.b_type)), b.data());
    take_rows(decoder, 3, false, word, size_t(tile.half_addend ? sums / 2 : sums), c.data());
    if (decoder.count() != 4) refuse(decoder, "wrong number of operands");
    if (shape.transposed()) {  // D' = B' * A' + C'
        std::swap(a, b);
        std::swap(tile.a_type, tile.b_type);
    }
    tile.rows = shape.small() ? 8 : 16;
    tile.k = shape.k;
    tile.by_fours = tile.a_type == Element::tf32;  // as measured; mma.m16n8k8 sums eight at once
    std::vector<Tile> tiles(shape.small() ? 1 : 2, tile);
    for (size_t i = 0; i < tiles.size(); ++i) {
        const bool below = shape.m != 16;  // the second tile has other rows, not other columns
        const size_t from_a = below ? i * size_t(tile.a_registers()) : 0;
        const size_t from_b = below ? 0 : i * size_t(tile.b_registers());
        for (size_t r = 0; r < size_t(tile.a_registers()); ++r) tiles[i].a[r] = a[from_a + r];
        for (size_t r = 0; r < size_t(tile.b_registers()); ++r) tiles[i].b[r] = b[from_b + r];
        for (size_t r = 0; r < size_t(tile.results()); ++r) tiles[i].d[r] = d[i * size_t(tile.results()) + r];
        for (size_t r = 0; r < size_t(tile.addends()); ++r) tiles[i].c[r] = c[i * size_t(tile.addends()) + r];
    }
    emit_tiles(decoder, std::move(tiles));
}

}  // namespace

void register_wmma(OperationTable& table) {
    table.add("wmma", [](Decoder& decoder) {
        if (decoder.take("load")) return decode_transfer(decoder, false);
        if (decoder.take("store")) return decode_transfer(decoder, true);
        if (decoder.take("mma")) return decode_product(decoder);
        refuse(decoder, "no such operation");
    });
}

}  // namespace softcuda::SOFTCUDA_LEVEL
