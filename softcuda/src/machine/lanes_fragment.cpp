// ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory and the fragments that mma.sync takes;
// movmatrix: such a matrix transposed in its registers.
//
// Lane i of lanes 8k..8k+7 names the address of row i % 8 of matrix k.  A lane's register for a matrix holds two neighbours
// of row lane / 4, columns 2 * (lane % 4) and the next; with .trans, of the matrix transposed.
#include <array>

#include "machine/access.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

struct Fragment {
    Op address;
    int matrices;
    bool transposed;
    std::array<uint32_t, 4> rows;  // of the registers
};

uint16_t* element(const Addresses& row, const Fragment& fragment, int matrix, int lane, int k) {
    const int first = lane / 4, second = 2 * (lane % 4) + k;
    const int r = fragment.transposed ? second : first, c = fragment.transposed ? first : second;
    return reinterpret_cast<uint16_t*>(row.at[8 * matrix + r]) + c;
}
const Fragment& resolve_rows(Warp& warp, const Op& op, uint32_t lanes, Access access, Addresses& row) {
    const auto& fragment = *reinterpret_cast<const Fragment*>(op.imm);
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "moving matrices needs all 32 lanes");
    const uint32_t naming = fragment.matrices == 4 ? all_lanes : (1u << (8 * fragment.matrices)) - 1;
    resolve_any(warp, fragment.address, naming, 16, access, row.at);
    return fragment;
}
void exec_load_matrix(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses row;
    const Fragment& fragment = resolve_rows(warp, op, lanes, Access::load, row);
    for (int m = 0; m < fragment.matrices; ++m)
        for (int lane = 0; lane < warp_size; ++lane)
            warp.row<uint32_t>(fragment.rows[size_t(m)])[lane] =
                *element(row, fragment, m, lane, 0) | uint32_t(*element(row, fragment, m, lane, 1)) << 16;
}
void exec_store_matrix(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses row;
    const Fragment& fragment = resolve_rows(warp, op, lanes, Access::store, row);
    for (int m = 0; m < fragment.matrices; ++m)
        for (int lane = 0; lane < warp_size; ++lane) {
            const uint32_t word = warp.row<uint32_t>(fragment.rows[size_t(m)])[lane];
            *element(row, fragment, m, lane, 0) = uint16_t(word);
            *element(row, fragment, m, lane, 1) = uint16_t(word >> 16);
        }
}

void decode_fragment(Decoder& decoder, bool stores) {
    decoder.take("sync"), decoder.take("aligned");
    if (!decoder.take("m8n8")) decoder.unsupported("matrices are .m8n8");
    const int size = decoder.take_one({"x1", "x2", "x4"});
    auto fragment = std::make_shared<Fragment>();
    fragment->transposed = decoder.take("trans");
    const Region region = take_region(decoder);
    if (size < 0 || !decoder.take("b16") || (region != Region::shared && region != Region::generic))
        decoder.unsupported();
    fragment->matrices = 1 << size;
    const size_t place = stores ? 0 : 1;
    const Address address = decoder.address(place, space_name(region));
    const ptx::Operand& list = decoder.operand(1 - place);
    if (list.kind != ptx::OperandKind::vector || list.elements.size() != size_t(fragment->matrices))
        decoder.unsupported("number of registers");
    for (size_t i = 0; i < list.elements.size(); ++i)
        fragment->rows[i] = stores ? decoder.source(list.elements[i], Type::b32).offset
                                   : decoder.destination(list.elements[i], Type::b32).offset;
    Op& op = decoder.emit(stores ? exec_store_matrix : exec_load_matrix);
    fragment->address = op;
    set_address(fragment->address, address, region);
    op.flow = Flow::meet;                                          // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(decoder.keep(fragment));  // not op.extra: there `meet` looks for a MeetShape
}

void exec_move_matrix(Warp& warp, const Op& op, uint32_t lanes) {
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "moving matrices needs all 32 lanes");
    uint16_t matrix[8][8], *out = warp.row<uint16_t>(op.dst);
    std::memcpy(matrix, warp.row<uint16_t>(op.a), sizeof matrix);
    for (int i = 0; i < 64; ++i) out[i] = matrix[i % 8][i / 8];
}
void decode_move_matrix(Decoder& decoder) {
    decoder.take("sync"), decoder.take("aligned");
    if (!decoder.take("m8n8") || !decoder.take("trans") || !decoder.take("b16")) decoder.unsupported();
    if (decoder.count() != 2) decoder.unsupported("wrong number of operands");
    const uint32_t a = decoder.source(1, Type::b32).offset, d = decoder.destination(0, Type::b32).offset;
    Op& op = decoder.emit(exec_move_matrix);
    op.dst = d, op.a = a;
    op.flow = Flow::meet;  // op.d is 0: all lanes of the warp
}

}  // namespace

void register_fragment(OperationTable& table) {
    table.add("ldmatrix", [](Decoder& decoder) { decode_fragment(decoder, false); });
    table.add("movmatrix", decode_move_matrix);
    table.add("stmatrix", [](Decoder& decoder) { decode_fragment(decoder, true); });
}

}  // namespace softcuda::SOFTCUDA_LEVEL
