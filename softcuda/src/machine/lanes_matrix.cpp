// mma.sync and mma.sp: a warp multiplies small matrices whose elements are spread over its lanes (matrix.h draws them).
#include "machine/half.h"
#include "machine/matrix.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

// --- mma.m8n8k4 of f16: four products, each of eight lanes: q..q+3 and q+16..q+19 for q = 0, 4, 8, 12
struct QuadSpec {
    bool a_by_row, b_by_row, half_result, half_addend;
    uint32_t a[2], b[2], c[8], d[8];
};
// Row and column of element i of a sum in f32; in f16 a lane has a row.
int quad_row(int lane, int i, bool half) { return (half ? lane % 4 : (lane & 1) + (i & 2)) + (lane < 16 ? 0 : 4); }
int quad_column(int lane, int i, bool half) { return half ? i : (i & 4) + (lane & 2) + (i & 1); }

void run_quads(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *reinterpret_cast<const QuadSpec*>(op.imm);
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "a matrix product needs all 32 lanes");
    auto halves = [&](const uint32_t* rows, int lane, int i) {
        return from_f16(uint16_t(warp.row<uint32_t>(rows[i / 2])[lane] >> (16 * (i % 2))));
    };
    float a[4][8][4], b[4][4][8];
    for (int lane = 0; lane < warp_size; ++lane) {
        const int quad = lane % 16 / 4, inner = lane % 4, upper = lane < 16 ? 0 : 4;
        for (int i = 0; i < 4; ++i) {
            (spec.a_by_row ? a[quad][inner + upper][i] : a[quad][i + upper][inner]) = halves(spec.a, lane, i);
            (spec.b_by_row ? b[quad][inner][i + upper] : b[quad][i][inner + upper]) = halves(spec.b, lane, i);
        }
    }
    uint32_t out[8][warp_size] = {};
    float addends[4][8][8];
    for (int lane = 0; lane < warp_size; ++lane)
        for (int i = 0; i < 8; ++i)
            addends[lane % 16 / 4][quad_row(lane, i, spec.half_addend)][quad_column(lane, i, spec.half_addend)] =
                spec.half_addend ? halves(spec.c, lane, i) : warp.row<float>(spec.c[i])[lane];
    for (int lane = 0; lane < warp_size; ++lane) {
        for (int i = 0; i < 8; ++i) {
            const int quad = lane % 16 / 4, row = quad_row(lane, i, spec.half_result),
                      column = quad_column(lane, i, spec.half_result);
            float sum = 0;  // C comes last, as measured on an H200
            for (int k = 0; k < 4; ++k) sum = fused(a[quad][row][k], b[quad][k][column], sum);
            sum += addends[quad][row][column];
            if (spec.half_result)
                out[i / 2][lane] |= uint32_t(to_f16(sum)) << (16 * (i % 2));
            else
                out[i][lane] = bits_of(canonical(sum));
        }
    }
    for (int r = 0; r < (spec.half_result ? 4 : 8); ++r)
        std::memcpy(warp.row<uint32_t>(spec.d[r]), out[r], sizeof out[r]);
}

void decode_quads(Decoder& decoder, bool a_by_row, bool b_by_row, const std::vector<std::string>& types) {
    if (types.size() != 4 || types[1] != "f16" || types[2] != "f16") refuse(decoder, "this shape is of .f16");
    QuadSpec spec{a_by_row, b_by_row, types[0] == "f16", types[3] == "f16", {}, {}, {}, {}};
    if ((!spec.half_result && types[0] != "f32") || (!spec.half_addend && types[3] != "f32"))
        refuse(decoder, "no such result");
    take_rows(decoder, 0, true, Type::b32, spec.half_result ? 4 : 8, spec.d);
    take_rows(decoder, 1, false, Type::b32, 2, spec.a);
    take_rows(decoder, 2, false, Type::b32, 2, spec.b);
    take_rows(decoder, 3, false, Type::b32, spec.half_addend ? 4 : 8, spec.c);
    const void* extra = decoder.keep(std::make_shared<const QuadSpec>(spec));
    Op& op = decoder.emit(run_quads);
    op.flow = Flow::meet;                         // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(extra);  // not op.extra: there `meet` looks for a MeetShape
}

// --- the others
void check_shape(Decoder& decoder, const Tile& tile, int k) {
    const Element type = tile.a_type;
    const int step = 4 * elements_in_register(type), bits = element_bits(type);
    bool known;
    if (tile.sparsity != Sparsity::none)  // fp8 has only the larger one
        known = tile.rows == 16 && (k == 4 * step || (k == 2 * step && !is_float8(type))) && bits >= 4 && bits <= 32;
    else if (type == Element::f64)
        known = k == 4 || (tile.rows == 16 && (k == 8 || k == 16));
    else if (tile.rows == 8)
        known = k == step && (is_integer(type) || type == Element::b1);
    else
        known = k == step || k == 2 * step;
    if (!known) refuse(decoder, "no such shape for these elements");
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c
// mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d, a, b, c, indices, selector
void decode_mma(Decoder& decoder) {
    Tile tile;
    const bool sparse = decoder.take_one({"sp", "sp::ordered_metadata"}) >= 0;
    if (!decoder.take("sync")) refuse(decoder, "mma is .sync");
    decoder.take("aligned");
    for (const char* kind : {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"})
        if (decoder.take(kind)) refuse(decoder, "no elements of 6 and 4 bits, and no block scales");
    const int k4 = decoder.take_one({"m8n8k4", "m16n8k4"});
    const int shape = k4 >= 0 ? k4
                              : decoder.take_one({"m8n8k16", "m8n8k32", "m8n8k128", "m16n8k8", "m16n8k16", "m16n8k32",
                                                  "m16n8k64", "m16n8k128", "m16n8k256"});
    if (shape < 0) refuse(decoder, "no such shape");
    constexpr int depths[] = {16, 32, 128, 8, 16, 32, 64, 128, 256};
    const int k = k4 >= 0 ? 4 : depths[shape];
    tile.rows = (k4 >= 0 ? shape == 0 : shape < 3) ? 8 : 16;
    const auto [a_by_row, b_by_row] = take_layouts(decoder);
    tile.saturate = decoder.take("satfinite");
    const int rounding = decoder.take_one({"rn", "rz", "rm", "rp"});
    const std::vector<std::string> types = take_types(decoder);
    if (k == 4 && tile.rows == 8 && types.size() == 4 && types[1] == "f16") {
        if (sparse || tile.saturate || rounding >= 0) refuse(decoder);
        decode_quads(decoder, a_by_row, b_by_row, types);
        return;
    }
    if (!a_by_row || b_by_row) refuse(decoder, "layouts are .row.col");
    if (types.size() != 4) refuse(decoder, "four types are due");
    tile.a_type = element_named(types[1]), tile.b_type = element_named(types[2]);
    if (tile.a_type == Element::none || !same_kind(tile.a_type, tile.b_type))
        refuse(decoder, "a and b of different kinds");
    if (sparse)
        tile.sparsity = tile.a_type == Element::tf32     ? Sparsity::one_of_two
                        : element_bits(tile.a_type) == 4 ? Sparsity::pairs
                                                         : Sparsity::two_of_four;
    check_shape(decoder, tile, k);
    tile.k = sparse ? k / 2 : k;
    tile.half_result = tile.half_addend = types[0] == "f16";
    const bool whole = is_integer(tile.a_type) || tile.a_type == Element::b1;
    const char* sum = tile.a_type == Element::f64 ? "f64" : whole ? "s32" : tile.half_result ? "f16" : "f32";
    if (types[0] != sum || types[3] != sum) refuse(decoder, "no such result");
    if (tile.half_result && tile.a_type != Element::f16 && !is_float8(tile.a_type)) refuse(decoder, "no such result");
    if (tile.saturate && !is_integer(tile.a_type)) refuse(decoder, ".satfinite is for integers");
    if (rounding >= 0 && tile.a_type != Element::f64) refuse(decoder, "a rounding is for .f64");
    tile.rounding = rounding > 0 ? rounding : 0;
    if (tile.a_type == Element::b1) {
        const int operation = decoder.take_one({"xor", "and"});
        if (operation < 0 || !decoder.take("popc")) refuse(decoder, "bits are multiplied by .xor.popc or .and.popc");
        tile.exclusive = operation == 0;
    }
    const Type word = tile.a_type == Element::f64 ? Type::b64 : Type::b32;
    take_rows(decoder, 0, true, word, size_t(tile.results()), tile.d.data());
    take_rows(decoder, 1, false, word, size_t(tile.a_registers()), tile.a.data());
    take_rows(decoder, 2, false, word, size_t(tile.b_registers()), tile.b.data());
    take_rows(decoder, 3, false, word, size_t(tile.addends()), tile.c.data());
    if (decoder.count() != (sparse ? 6u : 4u)) refuse(decoder, "wrong number of operands");
    if (sparse) {
        tile.indices = decoder.source(4, Type::b32).offset;
        const ptx::Operand& selector = decoder.operand(5);
        if (selector.kind != ptx::OperandKind::integer) refuse(decoder, "the selector is a constant");
        // As many choices as there are groups of lanes with indices for the whole of a row.
        const int bits_of_row = tile.k * (tile.a_type == Element::tf32 ? 4 : tile.sparsity == Sparsity::pairs ? 1 : 2);
        if (selector.bits >= uint64_t(64 / bits_of_row)) refuse(decoder, "no such selector");
        tile.selector = uint32_t(selector.bits);
    }
    emit_tiles(decoder, {tile});
}

}  // namespace

void register_matrix(OperationTable& table) {
    register_wmma(table);
    register_wgmma(table);
    table.add("mma", decode_mma, {Effect::writes_first});
}

}  // namespace softcuda::SOFTCUDA_LEVEL
