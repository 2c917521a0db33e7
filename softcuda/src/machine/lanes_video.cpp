// Video instructions: bytes and halves of words, one (vadd, vmad …) or all of them at once (vadd2, vadd4 …).
#include "machine/families.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s64 = int64_t;
using s128 = __int128;

enum class Video : u8 { add, sub, avrg, absdiff, min, max, shl, shr, compare };

// `width` bits of a word from `from` up.
struct Part {
    u8 from = 0, width = 32;
};
u32 field_of(int width) { return width == 32 ? ~0u : (1u << width) - 1; }
s64 read_part(u64 word, Part part, bool is_signed) {
    const s64 raw = s64((word >> part.from) & field_of(part.width));
    return is_signed && (raw >> (part.width - 1)) ? raw - (s64(field_of(part.width)) + 1) : raw;
}
s64 clamped(s128 value, int width, bool is_signed) {
    const s64 most = s64(field_of(width)), low = is_signed ? -(most + 1) / 2 : 0, up = is_signed ? most / 2 : most;
    return s64(value < low ? s128(low) : value > up ? s128(up) : value);
}
bool compare_integers(int compare, s64 a, s64 b) {
    switch (compare) {
        case 0: return a == b;
        case 1: return a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        default: return a >= b;
    }
}
s64 combined(Video kind, int compare, s64 x, s64 y) {
    switch (kind) {
        case Video::add: return x + y;
        case Video::sub: return x - y;
        case Video::avrg: return (x + y + (x + y >= 0 ? 1 : 0)) >> 1;
        case Video::absdiff: return x < y ? y - x : x - y;
        case Video::min: return x < y ? x : y;
        case Video::max: return x < y ? y : x;
        case Video::shl: return x * (s64(1) << y);
        case Video::shr: return x >> y;
        case Video::compare: return compare_integers(compare, x, y);
    }
    return 0;
}

// --- several parts: of a and b together, the lowest of a being number 0; merged into c, or summed up with it
struct PackedSpec {
    Video kind;
    int parts, compare;
    bool a_signed, b_signed, d_signed, saturate, accumulate;
    u8 a_select[4], b_select[4], mask;
};
void run_packed(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const PackedSpec*>(op.extra);
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    u32* d = warp.row<u32>(op.dst);
    const int width = 32 / spec.parts;
    const u32 field = field_of(width);
    each_active(lanes, [&](int i) {
        const u64 pair = u64(b[i]) << 32 | a[i];
        u32 result = c[i], sum = c[i];
        for (int k = 0; k < spec.parts; ++k) {
            if (!((spec.mask >> k) & 1)) continue;
            auto part = [&](u8 select, bool is_signed) {
                return read_part(pair, {u8(width * select), u8(width)}, is_signed);
            };
            s64 value = combined(spec.kind, spec.compare, part(spec.a_select[k], spec.a_signed),
                                 part(spec.b_select[k], spec.b_signed));
            if (spec.saturate) value = clamped(value, width, spec.d_signed);
            // .add sums what does not fit a part, too.
            sum += u32(value);
            result = (result & ~(field << (width * k))) | (u32(value) & field) << (width * k);
        }
        d[i] = spec.accumulate ? sum : result;
    });
}

constexpr const char* unlike_isa = "the hardware's result is not what the PTX ISA says";

bool is_word(Type type) { return type == Type::u32 || type == Type::s32; }
int take_video_comparison(Decoder& decoder) {
    const int compare = decoder.take_one({"eq", "ne", "lt", "le", "gt", "ge"});
    if (compare < 0) refuse(decoder, "says no comparison");
    return compare;
}

// %r1.b7610: four parts, the last written being the lowest; no selector keeps what stands there.
void read_selectors(Decoder& decoder, size_t operand, int parts, u8* select) {
    const ptx::Operand& given = decoder.operand(operand);
    if (given.kind != ptx::OperandKind::reg || given.name.empty()) return;
    const std::string& name = given.name;
    if (name[0] != (parts == 4 ? 'b' : 'h') || name.size() != size_t(parts) + 1)
        refuse(decoder, "selectors of another width");
    for (int k = 0; k < parts; ++k) {
        select[k] = u8(name[size_t(parts - k)] - '0');
        if (select[k] >= 2 * parts) refuse(decoder, "a part that a and b do not have");
    }
}
u8 read_mask(Decoder& decoder, int parts) {
    const std::string& name = decoder.operand(0).name;
    if (name.empty()) return u8((1 << parts) - 1);
    if (name[0] != (parts == 4 ? 'b' : 'h')) refuse(decoder, "the mask names another width");
    u8 mask = 0;
    int above = parts;
    for (char digit : name.substr(1)) {  // falling: .b310
        const int part = digit - '0';
        if (part >= above) refuse(decoder, "a mask whose parts do not fall");
        mask |= u8(1 << part), above = part;
    }
    return mask;
}

void decode_packed(Decoder& decoder, Video kind, int parts) {
    PackedSpec spec{};
    const bool compares = kind == Video::compare;
    spec.kind = kind, spec.parts = parts;
    const Type d = compares ? Type::u32 : decoder.take_type(), a = decoder.take_type(), b = decoder.take_type();
    if (!is_word(d) || !is_word(a) || !is_word(b)) refuse(decoder, "video types are .u32 and .s32");
    spec.d_signed = d == Type::s32, spec.a_signed = a == Type::s32, spec.b_signed = b == Type::s32;
    spec.saturate = !compares && decoder.take("sat");
    spec.accumulate = decoder.take("add");
    if (spec.saturate && spec.accumulate) refuse(decoder, ".sat and .add do not go together");
    if (compares) spec.compare = take_video_comparison(decoder);
    spec.mask = read_mask(decoder, parts);
    for (int k = 0; k < 4; ++k) spec.a_select[k] = u8(k), spec.b_select[k] = u8(parts + k);
    read_selectors(decoder, 1, parts, spec.a_select);
    read_selectors(decoder, 2, parts, spec.b_select);
    const void* extra = decoder.keep(std::make_shared<PackedSpec>(spec));
    emit_plain(decoder, run_packed, Type::b32, {Type::b32, Type::b32, Type::b32}).extra = extra;
}

// --- one part of a and one of b; merged into a part of c, or combined with it
//
// An H200 has none of these instructions: the driver's sequences for them are followed where they differ from the PTX
// ISA's description (measured; what they do by no rule that was found is refused).
struct ScalarSpec {
    Video kind;
    int compare;
    bool a_signed, b_signed, d_signed, saturate, wraps, merges;
    int second;  // 0: none, add, min, max
    Part a, b, d;
    bool shifts() const { return kind == Video::shl || kind == Video::shr; }
};
// .sat: to the word; into a part, a negative value is a large one, and shifts saturate to the word all the same.
s64 saturated(const ScalarSpec& spec, s64 value) {
    if (!spec.merges || spec.shifts()) return clamped(value, 32, spec.d_signed);
    const u32 most = field_of(spec.d.width - spec.d_signed);
    return u64(value) > most ? most : value;
}
// What .min and .max compare with c: the word, extended by the sign of what was computed, not of the result.
s64 extended(const ScalarSpec& spec, s64 value) {
    if (spec.kind == Video::absdiff) return value;
    const bool computes_signed = spec.kind == Video::sub || spec.a_signed || spec.b_signed;
    return read_part(u32(value), {}, spec.saturate ? spec.d_signed : computes_signed);
}
bool is_below(const ScalarSpec& spec, s64 value, s64 c) { return spec.d_signed ? value < c : u64(value) < u64(c); }
void run_scalar(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const ScalarSpec*>(op.extra);
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    u32* d = warp.row<u32>(op.dst);
    each_active(lanes, [&](int i) {
        const s64 x = read_part(a[i], spec.a, spec.a_signed);
        s64 y = read_part(b[i], spec.b, spec.b_signed);
        if (spec.shifts()) y = spec.wraps ? y & 31 : y > 32 ? 32 : y;
        s64 value = combined(spec.kind, spec.compare, x, y);
        if (spec.saturate) value = saturated(spec, value);
        const u32 word = u32(value);
        const s64 addend = read_part(c[i], {}, spec.d_signed);
        switch (spec.second) {
            case 1: d[i] = word + c[i]; return;
            case 2: d[i] = is_below(spec, extended(spec, value), addend) ? word : c[i]; return;
            case 3: d[i] = is_below(spec, extended(spec, value), addend) ? c[i] : word; return;
            default: break;
        }
        // Into .h1 goes the word's own upper half.
        const u32 field = field_of(spec.d.width) << spec.d.from;
        const u32 placed = spec.d.width == 16 ? word : word << spec.d.from;
        d[i] = spec.merges ? (c[i] & ~field) | (placed & field) : word;
    });
}

// %r1.b2, %r1.h1; without a selector the whole word.
Part read_selector(Decoder& decoder, size_t operand) {
    const ptx::Operand& given = decoder.operand(operand);
    if (given.kind != ptx::OperandKind::reg || given.name.empty()) return {};
    if (given.name.size() != 2) refuse(decoder, "one part is due");
    const u8 width = given.name[0] == 'b' ? 8 : 16, number = u8(given.name[1] - '0');
    if (number >= 32 / width) refuse(decoder, "a part that a register does not have");
    return {u8(number * width), width};
}

void decode_scalar(Decoder& decoder, Video kind) {
    ScalarSpec spec{};
    spec.kind = kind;
    const bool compares = kind == Video::compare, shifts = spec.shifts();
    const Type d = compares ? Type::none : decoder.take_type(), a = decoder.take_type(), b = decoder.take_type();
    if ((!compares && !is_word(d)) || !is_word(a) || !is_word(b)) refuse(decoder, "video types are .u32 and .s32");
    if (shifts && b != Type::u32) refuse(decoder, "a count is .u32");
    spec.a_signed = a == Type::s32, spec.b_signed = b == Type::s32;
    spec.d_signed = compares ? spec.a_signed : d == Type::s32;
    spec.saturate = !compares && decoder.take("sat");
    if (compares) spec.compare = take_video_comparison(decoder);
    if (shifts) {
        const int mode = decoder.take_one({"clamp", "wrap"});
        if (mode < 0) refuse(decoder, "says neither .clamp nor .wrap");
        spec.wraps = mode == 1;
    }
    spec.second = decoder.take_one({"add", "min", "max"}) + 1;
    spec.a = read_selector(decoder, 1), spec.b = read_selector(decoder, 2), spec.d = read_selector(decoder, 0);
    spec.merges = spec.d.width != 32;
    if (spec.merges && spec.second) refuse(decoder, "a part of the result and a second operation");
    const bool whole = spec.a.width == 32 || spec.b.width == 32;
    if (spec.saturate && kind == Video::shl) refuse(decoder, unlike_isa);
    if (spec.saturate && kind == Video::add && spec.a_signed != spec.b_signed && whole && !spec.merges)
        refuse(decoder, unlike_isa);
    if ((compares || shifts) && spec.d.from == 16 && spec.d.width == 16) refuse(decoder, "into .h1: not measured");
    const bool third = spec.merges || spec.second;
    const void* extra = decoder.keep(std::make_shared<ScalarSpec>(spec));
    Op& op = third ? emit_plain(decoder, run_scalar, Type::b32, {Type::b32, Type::b32, Type::b32})
                   : emit_plain(decoder, run_scalar, Type::b32, {Type::b32, Type::b32});
    if (!third) op.c = op.a;
    op.extra = extra;
}

// --- vmad: a * b + c, negated and scaled on demand.  Whole words and c are signed whatever their types (measured).
struct MadSpec {
    bool a_signed, b_signed, saturate, negates_product, negates_c, plus_one;
    int shift;
    Part a, b;
};
void run_mad(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const MadSpec*>(op.extra);
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    u32* d = warp.row<u32>(op.dst);
    each_active(lanes, [&](int i) {
        const s128 product = s128(read_part(a[i], spec.a, spec.a_signed)) * read_part(b[i], spec.b, spec.b_signed);
        const s128 addend = read_part(c[i], {}, true);
        s128 value = (spec.negates_product ? -product : product) + (spec.negates_c ? -addend : addend);
        value = (value + spec.plus_one) >> spec.shift;
        d[i] = u32(spec.saturate ? u64(clamped(value, 32, true)) : u64(value));
    });
}
void decode_mad_video(Decoder& decoder) {
    MadSpec spec{};
    const Type d = decoder.take_type(), a = decoder.take_type(), b = decoder.take_type();
    if (!is_word(d) || !is_word(a) || !is_word(b)) refuse(decoder, "video types are .u32 and .s32");
    spec.plus_one = decoder.take("po");
    spec.saturate = decoder.take("sat");
    const int scale = decoder.take_one({"shr7", "shr15"});
    spec.shift = scale < 0 ? 0 : scale ? 15 : 7;
    spec.a_signed = a == Type::s32, spec.b_signed = b == Type::s32;
    if (decoder.count() != 4) refuse(decoder, "wrong number of operands");
    auto negated = [&](size_t i) { return decoder.operand(i).negated; };
    spec.negates_product = negated(1) != negated(2);
    spec.negates_c = negated(3);
    if ((spec.negates_product && spec.negates_c) || (spec.plus_one && (negated(1) || negated(2) || negated(3))))
        refuse(decoder, "these negations at once");
    if (spec.saturate && !spec.a_signed && !spec.b_signed) refuse(decoder, "saturated and unsigned: not measured");
    spec.a = read_selector(decoder, 1), spec.b = read_selector(decoder, 2);
    spec.a_signed |= spec.a.width == 32, spec.b_signed |= spec.b.width == 32;
    const void* extra = decoder.keep(std::make_shared<MadSpec>(spec));
    emit_plain(decoder, run_mad, Type::b32, {Type::b32, Type::b32, Type::b32}).extra = extra;
}

template <Video kind>
void add_all(OperationTable& table, const std::string& name, bool packed_only = false) {
    table.add(name + "2", [](Decoder& decoder) { decode_packed(decoder, kind, 2); });
    table.add(name + "4", [](Decoder& decoder) { decode_packed(decoder, kind, 4); });
    if (!packed_only) table.add(name, [](Decoder& decoder) { decode_scalar(decoder, kind); });
}

}  // namespace

void register_video(OperationTable& table) {
    add_all<Video::add>(table, "vadd");
    add_all<Video::sub>(table, "vsub");
    add_all<Video::absdiff>(table, "vabsdiff");
    add_all<Video::min>(table, "vmin");
    add_all<Video::max>(table, "vmax");
    add_all<Video::compare>(table, "vset");
    add_all<Video::avrg>(table, "vavrg", true);
    table.add("vshl", [](Decoder& decoder) { decode_scalar(decoder, Video::shl); });
    table.add("vshr", [](Decoder& decoder) { decode_scalar(decoder, Video::shr); });
    table.add("vmad", decode_mad_video);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
