// wgmma: four warps multiply matrices together, asynchronously, with operands that shared memory holds.
//
// mma_async notes what is to be done (warpgroup.h), and wait_group does it.
#include <algorithm>

#include "machine/access.h"
#include "machine/wgmma.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// --- descriptors: where the parts of an operand lie in shared memory, and how they are swizzled

struct Descriptor {
    uint32_t start, leading, stride, base, span;  // bytes, but for base; span: of a swizzled row, 16 without swizzle

    explicit Descriptor(uint64_t bits)
        : start(uint32_t(bits & 0x3fff) << 4),
          leading(uint32_t(bits >> 16 & 0x3fff) << 4),
          stride(uint32_t(bits >> 32 & 0x3fff) << 4),
          base(uint32_t(bits >> 49 & 7)),
          span(bits >> 62 ? 256u >> (bits >> 62) : 16) {}
    bool swizzled() const { return span != 16; }

    // Of 16 bytes: K is innermost, and they are part `part` of a row's; or M or N is, and they are elements 8 * eight …
    // at k.
    uint32_t along_k(uint32_t row, uint32_t part) const {
        return swizzle(start + row / 8 * stride + row % 8 * span + 16 * part % span +
                       (swizzled() ? 0 : part * leading));
    }
    uint32_t across_k(uint32_t eight, uint32_t k) const {
        const uint32_t wide = span / 16;  // eights
        const uint32_t far = swizzled() ? leading : stride, near = swizzled() ? stride : leading;
        return swizzle(start + eight / wide * far + k / 8 * near + k % 8 * span + 16 * (eight % wide));
    }

  private:
    uint32_t swizzle(uint32_t place) const {
        return swizzled() ? place ^ (((place >> 7) - base) & (span / 16 - 1)) << 4 : place;
    }
};

// Calls use(address, row or eight, part or k) for each 16 bytes of an operand with `rows` rows of 32 bytes (64: `wide`).
template <class F>
inline void each_part(const Descriptor& at, bool across, uint32_t rows, bool wide, F use) {
    if (across) {
        const uint32_t depth = wide ? 32 : 16;  // 16-bit elements
        for (uint32_t eight = 0; eight < rows / 8; ++eight)
            for (uint32_t k = 0; k < depth; ++k) use(at.across_k(eight, k), eight, k);
    } else {
        for (uint32_t row = 0; row < rows; ++row)
            for (uint32_t part = 0; part < (wide ? 4u : 2u); ++part) use(at.along_k(row, part), row, part);
    }
}

std::string describe(uint64_t bits) {
    const Descriptor at(bits);
    return "descriptor (start " + std::to_string(at.start) + ", leading offset " + std::to_string(at.leading) +
           ", stride offset " + std::to_string(at.stride) + ", " +
           (at.swizzled() ? "swizzle of " + std::to_string(at.span) + " bytes" : "no swizzle") + ")";
}

void check_descriptor(Warp& warp, const Op& op, uint64_t bits, const char* name, bool across, uint32_t rows,
                      bool wide) {
    const Descriptor at(bits);
    if (wide && !across && at.span == 32)
        warp.fault(FaultKind::illegal_instruction, op, 0,
                   std::string("the ") + describe(bits) + " of a sparse product's B, whose rows of 64 bytes are no " +
                       "multiple of the swizzle: softcuda does not know what the hardware reads");
    uint32_t last = 0;
    each_part(at, across, rows, wide, [&](uint32_t place, uint32_t, uint32_t) { last = std::max(last, place); });
    if (last + 16 <= warp.block->shared_bytes) return;
    warp.fault_address = last;
    warp.fault(FaultKind::illegal_address, op, 0,
               std::string("the ") + describe(bits) + " of " + name + " reaches byte " + std::to_string(last + 15) +
                   " of the block's shared memory, which has " + std::to_string(warp.block->shared_bytes));
}

// Rows of 32 bytes along K (64: `wide`).
void gather(const Descriptor& at, bool across, uint32_t rows, bool wide, const std::byte* shared, std::byte* to) {
    const uint32_t row_bytes = wide ? 64 : 32;
    each_part(at, across, rows, wide, [&](uint32_t place, uint32_t i, uint32_t j) {
        if (!across) {
            std::memcpy(to + i * row_bytes + 16 * j, shared + place, 16);
            return;
        }
        for (uint32_t e = 0; e < 8; ++e) std::memcpy(to + (8 * i + e) * row_bytes + 2 * j, shared + place + 2 * e, 2);
    });
}

// --- running

const Wgmma& product_of(const Op& op) { return *reinterpret_cast<const Wgmma*>(op.imm); }

uint64_t common_value(Warp& warp, const Op& op, uint32_t row, const char* name) {
    const auto* values = warp.row<uint64_t>(row);
    for (int i = 1; i < warp_size; ++i)
        if (values[i] != values[0])
            warp.fault(FaultKind::illegal_instruction, op, i,
                       std::string("the descriptor of ") + name + " is not the same in all lanes of the warp");
    return values[0];
}

void run_products(Warp& warp, size_t count);

// a, b: rows of descriptors; c: of scale-d.
void exec_product(Warp& warp, const Op& op, uint32_t lanes) {
    const Wgmma& product = product_of(op);
    const Block& block = *warp.block;
    const size_t first = warp.index / warps_in_group * warps_in_group;
    bool whole = first + warps_in_group <= block.warps.size();
    for (size_t w = first; whole && w < first + warps_in_group; ++w) whole = block.warps[w]->present == all_lanes;
    if (!whole)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes),
                   "wgmma needs the 128 threads of a warpgroup, and the block has only some of them");
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "wgmma needs all 32 lanes of the warp");
    IssuedProduct issued{&op, warp.frame};
    if (!product.a_from_registers) {
        issued.a = common_value(warp, op, op.a, "A");
        check_descriptor(warp, op, issued.a, "A", product.a_by_column, WgmmaOperands::rows, false);
    }
    issued.b = common_value(warp, op, op.b, "B");
    check_descriptor(warp, op, issued.b, "B", product.b_by_row, uint32_t(product.n), product.sparse);
    const uint32_t adds = warp.predicate(op.c);
    if (adds != 0 && adds != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(adds),
                   "scale-d is not the same in all lanes of the warp");
    issued.adds = adds != 0;
    WarpProducts& own = products_of(static_cast<WarpState&>(warp));
    issued.number = own.issued++;
    issued.group = own.committed;
    own.under_way.push_back(issued);
    own.last = &op;
    if (own.under_way.size() < most_products) return;
    size_t common = own.under_way.size();
    for (size_t w = first; w < first + warps_in_group; ++w)
        common = std::min(common, products_of(*block.warps[w]).under_way.size());
    if (common >= most_products / 2) run_products(warp, common);
}

void gather_operands(Warp& warp, const Wgmma& product, const IssuedProduct& issued, WgmmaOperands& operands) {
    const std::byte* shared = warp.block->shared;
    gather(Descriptor(issued.b), product.b_by_row, uint32_t(product.n), product.sparse, shared, operands.b);
    if (!product.a_from_registers)
        return gather(Descriptor(issued.a), product.a_by_column, WgmmaOperands::rows, false, shared, operands.a);
    for (size_t w = 0; w < warps_in_group; ++w)
        for (size_t r = 0; r < 4; ++r) {
            const auto* words = row_in<uint32_t>(operands.frames[w], product.a[r]);
            for (size_t lane = 0; lane < warp_size; ++lane)
                std::memcpy(operands.a + (16 * w + lane / 4 + 8 * (r % 2)) * 32 + 4 * (lane % 4 + 4 * (r / 2)),
                            words + lane, 4);
        }
}

void report(Warp& warp, const IssuedProduct& issued) {
    const Wgmma& product = product_of(*issued.op);
    std::vector<uint32_t> places;
    auto add = [&](uint32_t place, uint32_t, uint32_t) { places.push_back(place); };
    if (!product.a_from_registers)
        each_part(Descriptor(issued.a), product.a_by_column, WgmmaOperands::rows, false, add);
    const auto of_a = uint32_t(places.size());
    each_part(Descriptor(issued.b), product.b_by_row, uint32_t(product.n), product.sparse, add);
    warp.observer->product(static_cast<WarpState&>(warp).place(),
                           {issued.op, issued.number, uint32_t(places.size()), places.data(), of_a});
}

// The oldest so many of the warp's group, for all its warps.
void run_products(Warp& warp, size_t count) {
    static thread_local WgmmaOperands operands;
    const size_t first = warp.index / warps_in_group * warps_in_group;
    std::array<WarpProducts*, warps_in_group> warps;
    for (size_t w = 0; w < warps_in_group; ++w) warps[w] = &products_of(*warp.block->warps[first + w]);
    for (size_t i = 0; i < count; ++i) {
        const IssuedProduct& own = warps[warp.index % warps_in_group]->under_way[i];
        for (size_t w = 0; w < warps_in_group; ++w) {
            const std::vector<IssuedProduct>& theirs = warps[w]->under_way;
            const bool same = i < theirs.size() && theirs[i].op == own.op && theirs[i].a == own.a &&
                              theirs[i].b == own.b && theirs[i].adds == own.adds;
            if (!same)
                warp.fault(FaultKind::illegal_instruction, *own.op, 0,
                           "warp " + std::to_string(first + w) +
                               " of the warpgroup does not execute it with the same descriptors and scale-d, as all "
                               "four warps must");
            operands.frames[w] = theirs[i].frame;
        }
        if (warp.observer) report(warp, own);
        const Wgmma& product = product_of(*own.op);
        gather_operands(warp, product, own, operands);
        multiply(product, operands, own.adds);
        charge(warp, size_t(product.n) * 64);
    }
    for (WarpProducts* one : warps)
        one->under_way.erase(one->under_way.begin(), one->under_way.begin() + static_cast<ptrdiff_t>(count));
}

void exec_commit(Warp& warp, const Op&, uint32_t) {
    ++products_of(static_cast<WarpState&>(warp)).committed;
    wake_warpgroup(static_cast<WarpState&>(warp));
}

// imm: groups that may stay under way.
void exec_wait(Warp& warp, const Op& op, uint32_t) {
    const WarpProducts& own = products_of(static_cast<WarpState&>(warp));
    size_t count = 0;
    while (count < own.under_way.size() && own.under_way[count].group + op.imm < own.committed) ++count;
    if (count) run_products(warp, count);
}

void exec_nothing(Warp&, const Op&, uint32_t) {}

// --- decoding

int take_number(const std::string& text, size_t& at) {
    int value = 0;
    const size_t begin = at;
    while (at < text.size() && at < begin + 4 && text[at] >= '0' && text[at] <= '9')
        value = 10 * value + text[at++] - '0';
    return at == begin ? -1 : value;
}

// .m64nNkK
bool take_shape(Decoder& decoder, int& n, int& k) {
    for (const std::string& name : decoder.in.modifiers) {
        if (!name.starts_with("m64n")) continue;
        size_t at = 4;
        n = take_number(name, at);
        if (at >= name.size() || name[at] != 'k') return false;
        k = take_number(name, ++at);
        return n > 0 && k > 0 && at == name.size() && decoder.take(name);
    }
    return false;
}

// 1 or -1, 0 or 1: an immediate.
int64_t take_flag(Decoder& decoder, size_t operand, int64_t low) {
    const ptx::Operand& given = decoder.operand(operand);
    const auto value = static_cast<int64_t>(given.bits);
    if (given.kind != ptx::OperandKind::integer || (value != low && value != 1))
        refuse(decoder, low < 0 ? "a scale that is neither 1 nor -1" : "a transposition that is neither 0 nor 1");
    return value;
}

void take_types_of(Decoder& decoder, Wgmma& product) {
    const std::vector<std::string> types = take_types(decoder);
    if (types.size() != 3) refuse(decoder, "three types are due");
    product.a_type = element_named(types[1]), product.b_type = element_named(types[2]);
    product.half_result = types[0] == "f16";
    const Element type = product.a_type;
    const bool bits = type == Element::b1, whole = type == Element::s8 || type == Element::u8;
    const bool floats = type == Element::f16 || type == Element::bf16 || type == Element::tf32 || is_float8(type);
    if (!(bits || whole || floats) || !same_kind(type, product.b_type)) refuse(decoder, "no such elements");
    const bool halves = type == Element::f16 || is_float8(type);
    if (floats ? types[0] != "f32" && !(halves && product.half_result) : types[0] != "s32")
        refuse(decoder, "no such result");
}

// wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 d, a-desc, b-desc, scale-d, scale-a, scale-b, trans-a, trans-b
// wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16 d, {a…}, b-desc, indices, selector, scale-d, scale-a, scale-b, trans-b
// wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.u8.satfinite d, a-desc, b-desc, scale-d
void decode_product(Decoder& decoder) {
    auto product = std::make_shared<Wgmma>();
    product->sparse = decoder.take("sp");
    if (!decoder.take("sync") || !decoder.take("aligned")) refuse(decoder, "it is .sync.aligned");
    int k = 0;
    if (!take_shape(decoder, product->n, k)) refuse(decoder, "no such shape");
    take_types_of(decoder, *product);
    const Element type = product->a_type;
    const bool bits = type == Element::b1, floats = !bits && !product->whole();
    product->k = 256 / element_bits(type);
    const int step = floats || product->n < 32 ? 8 : 16;
    if (k != product->depth() || product->n > 256 || product->n % step != 0 || (bits && product->sparse))
        refuse(decoder, "no such shape for these elements");
    product->saturate = decoder.take("satfinite");
    if (product->saturate && !product->whole()) refuse(decoder, ".satfinite is for integers");
    if (bits && (!decoder.take("and") || !decoder.take("popc"))) refuse(decoder, "bits are multiplied by .and.popc");

    product->d.resize(size_t(product->half_result ? product->n / 4 : product->n / 2));
    take_rows(decoder, 0, true, Type::b32, product->d.size(), product->d.data());
    Row a;
    product->a_from_registers = decoder.operand(1).kind == ptx::OperandKind::vector;
    if (product->sparse && !product->a_from_registers) refuse(decoder, "a sparse A in shared memory");
    if (product->a_from_registers)
        take_rows(decoder, 1, false, Type::b32, 4, product->a.data());
    else
        a = decoder.source(1, Type::b64);
    const Row b = decoder.source(2, Type::b64);
    size_t next = 3;
    if (product->sparse) {
        product->indices = decoder.source(next++, Type::b32).offset;
        const ptx::Operand& selector = decoder.operand(next++);
        const uint64_t choices = element_bits(type) == 8 ? 1 : 2;
        if (selector.kind != ptx::OperandKind::integer || selector.bits >= choices) refuse(decoder, "no such selector");
        product->selector = uint32_t(selector.bits);
    }
    const Row adds = decoder.predicate_source(next++);
    if (floats) {
        product->negative = take_flag(decoder, next, -1) * take_flag(decoder, next + 1, -1) < 0;
        next += 2;
    }
    if (element_bits(type) == 16) {
        if (!product->a_from_registers) product->a_by_column = take_flag(decoder, next++, 0) == 1;
        product->b_by_row = take_flag(decoder, next++, 0) == 1;
        if (product->sparse && product->b_by_row) refuse(decoder, "a sparse product with a transposed B");
    }
    if (decoder.count() != next) refuse(decoder, "wrong number of operands");
    Op& op = decoder.emit(exec_product);
    op.a = a.offset, op.b = b.offset, op.c = adds.offset;
    op.flow = Flow::meet;                                         // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(decoder.keep(product));  // not op.extra: there `meet` looks for a MeetShape
}

void decode_wgmma(Decoder& decoder) {
    if (decoder.sm() == 90 && decoder.target() != "sm_90a")
        refuse(decoder, "it needs the target sm_90a: compile with -arch=sm_90a");
    if (decoder.sm() != 90) refuse(decoder, "only sm_90a has it");
    const int what = decoder.take_one({"mma_async", "fence", "commit_group", "wait_group"});
    if (what < 0) refuse(decoder, "no such operation");
    if (what == 0) return decode_product(decoder);
    if (!decoder.take("sync") || !decoder.take("aligned")) refuse(decoder, "it is .sync.aligned");
    if (decoder.count() != (what == 3 ? 1u : 0u)) refuse(decoder, "wrong number of operands");
    const uint64_t left = what == 3 ? constant_operand(decoder, 0) : 0;
    Op& op = decoder.emit(what == 1 ? exec_nothing : what == 2 ? exec_commit : exec_wait);
    op.flow = what == 3 ? Flow::warpgroup : Flow::meet;
    op.imm = left;
}

}  // namespace

void register_wgmma(OperationTable& table) { table.add("wgmma", decode_wgmma); }

}  // namespace softcuda::SOFTCUDA_LEVEL
