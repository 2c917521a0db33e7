// mma.sync: a warp multiplies small matrices whose elements are spread over its lanes.
//
// Fragments as PTX lays them out (m16n8): with g = lane / 4 and t = lane % 4, and E elements in a 32-bit register,
//   A  register r: row g + 8 * (r % 2), columns E * t + 4 * E * (r / 2) ...
//   B  register r: rows E * t + 4 * E * r ..., column g
//   C, D  element i: row g + 8 * (i / 2), column 2 * t + i % 2
// Products are exact; sums are kept in double and rounded once at the end (PTX leaves order and inner precision open).
#include <array>

#include "machine/families.h"
#include "machine/half.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

enum class Element : uint8_t { f16, bf16, tf32, s8, u8 };
int elements_in_register(Element e) { return e == Element::tf32 ? 1 : e == Element::s8 || e == Element::u8 ? 4 : 2; }

struct MatrixSpec {
    int k;
    Element a_type, b_type;
    bool half_result, half_addend, integers, saturate;
    int a_count, b_count, c_count, d_count;  // registers
    std::array<uint32_t, 4> a, b, c, d;      // their rows
};

double value_of(Element type, uint32_t word, int index) {
    switch (type) {
        case Element::f16: return from_f16(uint16_t(word >> (16 * index)));
        case Element::bf16: return from_bf16(uint16_t(word >> (16 * index)));
        case Element::tf32: return float_of(word & 0xffffe000u);  // the hardware reads 19 bits
        case Element::s8: return int8_t(word >> (8 * index));
        default: return uint8_t(word >> (8 * index));
    }
}

void run_mma(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *reinterpret_cast<const MatrixSpec*>(op.imm);
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "mma.sync needs all 32 lanes");
    static_assert(warp_size == 32);
    double a[16][32], b[32][8];
    const int ea = elements_in_register(spec.a_type), eb = elements_in_register(spec.b_type);
    for (int lane = 0; lane < warp_size; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < spec.a_count; ++r)
            for (int e = 0; e < ea; ++e)
                a[g + 8 * (r % 2)][ea * t + 4 * ea * (r / 2) + e] =
                    value_of(spec.a_type, warp.row<uint32_t>(spec.a[r])[lane], e);
        for (int r = 0; r < spec.b_count; ++r)
            for (int e = 0; e < eb; ++e)
                b[eb * t + 4 * eb * r + e][g] = value_of(spec.b_type, warp.row<uint32_t>(spec.b[r])[lane], e);
    }
    uint32_t out[4][warp_size] = {};
    for (int lane = 0; lane < warp_size; ++lane) {
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            double sum = 0;
            for (int k = 0; k < spec.k; ++k) sum += a[row][k] * b[k][column];
            if (spec.integers) {
                int64_t total = int64_t(sum) + int32_t(warp.row<uint32_t>(spec.c[i])[lane]);
                if (spec.saturate) total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
                out[i][lane] = uint32_t(total);
                continue;
            }
            const uint32_t word = warp.row<uint32_t>(spec.c[spec.half_addend ? i / 2 : i])[lane];
            const float addend = spec.half_addend ? from_f16(uint16_t(word >> (16 * (i % 2)))) : float_of(word);
            const float result = canonical(float(sum + addend));
            if (spec.half_result)
                out[i / 2][lane] |= uint32_t(to_f16(result)) << (16 * (i % 2));
            else
                out[i][lane] = bits_of(result);
        }
    }
    for (int r = 0; r < 4 && r < spec.d_count; ++r) std::memcpy(warp.row<uint32_t>(spec.d[r]), out[r], sizeof out[r]);
}

int take_rows(Decoder& decoder, size_t operand, bool result, std::array<uint32_t, 4>& rows) {
    const ptx::Operand& list = decoder.operand(operand);
    if (list.kind != ptx::OperandKind::vector || list.elements.size() > 4)
        refuse(decoder, "needs a vector of up to four registers");
    for (size_t i = 0; i < list.elements.size(); ++i)
        rows[i] = result ? decoder.destination(list.elements[i], Type::b32).offset
                         : decoder.source(list.elements[i], Type::b32).offset;
    return int(list.elements.size());
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c
void decode_mma(Decoder& decoder) {
    MatrixSpec spec{};
    if (!decoder.take("sync")) refuse(decoder, "mma is .sync");
    decoder.take("aligned");
    int shape = decoder.take_one({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
    if (shape < 0) refuse(decoder, "shapes are m16n8k4 to m16n8k32");
    spec.k = 4 << shape;
    if (!decoder.take("row") || !decoder.take("col")) refuse(decoder, "layouts are .row.col");
    spec.saturate = decoder.take("satfinite");
    const auto& modifiers = decoder.in.modifiers;
    if (modifiers.size() < 4) refuse(decoder, "says no types");
    const std::string *types = &modifiers[modifiers.size() - 4], names[] = {types[0], types[1], types[2], types[3]};
    for (const std::string& name : names) decoder.take(name);
    auto element = [&](const std::string& name) {
        if (name == "f16") return Element::f16;
        if (name == "bf16") return Element::bf16;
        if (name == "tf32") return Element::tf32;
        if (name == "s8") return Element::s8;
        if (name == "u8") return Element::u8;
        refuse(decoder, "elements are .f16, .bf16, .tf32, .s8 and .u8");
    };
    spec.a_type = element(names[1]), spec.b_type = element(names[2]);
    auto integer = [](Element e) { return e == Element::s8 || e == Element::u8; };
    spec.integers = integer(spec.a_type);
    if (spec.integers ? !integer(spec.b_type) : spec.a_type != spec.b_type)
        refuse(decoder, "a and b of different kinds");
    spec.half_result = names[0] == "f16", spec.half_addend = names[3] == "f16";
    const char* wide = spec.integers ? "s32" : "f32";
    if ((!spec.half_result && names[0] != wide) || (!spec.half_addend && names[3] != wide))
        refuse(decoder, "no such result");
    if ((spec.half_result || spec.half_addend) && spec.a_type != Element::f16) refuse(decoder, "no such result");
    if (spec.saturate && !spec.integers) refuse(decoder, ".satfinite is for integers");
    const int e = elements_in_register(spec.a_type);
    if (spec.k != 4 * e && spec.k != 8 * e) refuse(decoder, "no such shape for these elements");
    spec.d_count = take_rows(decoder, 0, true, spec.d);
    spec.a_count = take_rows(decoder, 1, false, spec.a), spec.b_count = take_rows(decoder, 2, false, spec.b);
    spec.c_count = take_rows(decoder, 3, false, spec.c);
    if (spec.a_count != spec.k / (2 * e) || spec.b_count != spec.k / (4 * e) ||
        spec.d_count != (spec.half_result ? 2 : 4) || spec.c_count != (spec.half_addend ? 2 : 4))
        refuse(decoder, "wrong number of registers");
    auto data = std::make_shared<MatrixSpec>(spec);
    const void* extra = data.get();
    decoder.keep(data);
    Op& op = decoder.emit(run_mma);
    op.flow = Flow::meet;                         // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(extra);  // not op.extra: there `meet` looks for a MeetShape
}

}  // namespace

void register_matrix(OperationTable& table) { table.add("mma", decode_mma); }

}  // namespace softcuda::SOFTCUDA_LEVEL
