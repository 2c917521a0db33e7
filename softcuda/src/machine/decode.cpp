// PTX functions into Ops: rows for registers, immediates and special registers, labels, calls.  What an instruction
// computes is the families' business (lanes_*.cpp); what it does to the flow of control is decided here.
#include "machine/decode.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "machine/block.h"
#include "machine/builtins.h"
#include "machine/effects.h"
#include "machine/function_builder.h"
#include "machine/operands.h"
#include "machine/optimisations.h"
#include "ptx/names.h"

namespace softcuda {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

// --- modifiers

bool Decoder::take(std::string_view modifier) {
    for (size_t i = 0; i < in.modifiers.size() && i < 64; ++i) {
        if ((taken_ >> i) & 1 || in.modifiers[i] != modifier) continue;
        taken_ |= uint64_t(1) << i;
        return true;
    }
    return false;
}

int Decoder::take_one(std::initializer_list<std::string_view> choices, int otherwise) {
    int index = 0;
    for (std::string_view choice : choices) {
        if (take(choice)) return index;
        ++index;
    }
    return otherwise;
}

ptx::Type Decoder::take_type() {
    for (size_t i = 0; i < in.modifiers.size() && i < 64; ++i) {
        Type type;
        if ((taken_ >> i) & 1 || !ptx::type_from_name(in.modifiers[i], type)) continue;
        taken_ |= uint64_t(1) << i;
        return type;
    }
    return Type::none;
}

bool Decoder::all_taken() const {
    size_t count = in.modifiers.size();
    return count <= 64 && static_cast<size_t>(std::popcount(taken_)) == count;
}

// --- small operations the decoder itself needs

namespace {

void exec_not_predicate(Warp& warp, const Op& op, uint32_t lanes) {
    uint32_t& result = warp.predicate(op.dst);
    result = (result & ~lanes) | (~warp.predicate(op.a) & lanes);
}

void exec_read_special(Warp& warp, const Op& op, uint32_t lanes) {
    auto& state = static_cast<WarpState&>(warp);
    auto special = static_cast<Special>(op.small[0]);
    uint64_t value = special == Special::clock      ? state.clock_at(op) & 0xffffffffu
                     : special == Special::clock64  ? state.clock_at(op)
                     : special == Special::clock_hi ? state.clock_at(op) >> 32
                                                    : special_value(special, state, 0, *state.current);
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        if (op.small[1] == 8)
            warp.row<uint64_t>(op.dst)[lane] = value;
        else
            warp.row<uint32_t>(op.dst)[lane] = static_cast<uint32_t>(value);
    }
}

void exec_add64(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        warp.row<uint64_t>(op.dst)[lane] = warp.row<uint64_t>(op.a)[lane] + op.imm;
    }
}

void exec_add32(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        warp.row<uint32_t>(op.dst)[lane] = warp.row<uint32_t>(op.a)[lane] + static_cast<uint32_t>(op.imm);
    }
}

void exec_trap(Warp& warp, const Op& op, uint32_t lanes) {
    warp.fault(FaultKind::trap, op, std::countr_zero(lanes), "the kernel executed a trap");
}

void exec_nothing(Warp&, const Op&, uint32_t) {}

// Row d: how much alloca has taken, down from the stack's end (as on the hardware, measured); row b: where the function's
// .local variables (imm bytes) begin, below.  small[0]: bytes of an address.
void exec_alloca(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t limit = warp.block->local_stride;
    const uint64_t align = uint64_t(1) << op.small[1];
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        uint32_t& taken = warp.row<uint32_t>(op.d)[lane];
        const uint64_t size = op.small[0] == 8 ? warp.row<uint64_t>(op.a)[lane] : warp.row<uint32_t>(op.a)[lane];
        const uint64_t at = size > limit - taken ? 0 : (limit - taken - size) / align * align;
        if (size > limit - taken || at < warp.row<uint32_t>(op.b)[lane] + op.imm)
            warp.fault(FaultKind::stack_overflow, op, lane,
                       "alloca of " + std::to_string(size) + " bytes needs more than the " + std::to_string(limit) +
                           " bytes of stack a thread has (cuCtxSetLimit(CU_LIMIT_STACK_SIZE) sets them)");
        taken = static_cast<uint32_t>(limit - at);
        if (op.small[0] == 8)
            warp.row<uint64_t>(op.dst)[lane] = at;
        else
            warp.row<uint32_t>(op.dst)[lane] = static_cast<uint32_t>(at);
    }
}

// Between row d and a register, either way: stacksave and stackrestore.
template <class T>
void exec_stack_save(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        warp.row<T>(op.dst)[lane] = warp.block->local_stride - warp.row<uint32_t>(op.d)[lane];
    }
}
template <class T>
void exec_stack_restore(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        const T saved = warp.row<T>(op.a)[lane];
        const uint32_t limit = warp.block->local_stride;
        uint32_t& taken = warp.row<uint32_t>(op.d)[lane];
        if (saved > limit || saved < limit - taken)
            warp.fault(FaultKind::illegal_instruction, op, lane, "stackrestore of what stacksave has not given");
        taken = static_cast<uint32_t>(limit - saved);
    }
}

uint64_t double_bits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t float_bits(float value) { return std::bit_cast<uint32_t>(value); }

}  // namespace

bool reads_dynamic_special(const Op& op) { return op.exec == exec_read_special; }

class InstructionDecoder final : public Decoder {
  public:
    InstructionDecoder(const ptx::Instruction& instruction, FunctionBuilder& builder)
        : Decoder(instruction), b(builder) {
        const ptx::Location& at = instruction.location;
        SourceLine line{at.file, at.line, instruction.ptx_line, instruction.text()};
        line_ = static_cast<uint32_t>(b.program.locations.size());
        b.program.locations.push_back(std::move(line));
    }
    void decode();

    Row source(size_t i, Type type, bool any_width = false) override { return source(at(i), type, any_width); }
    Row source(const Operand& operand, Type type, bool any_width = false) override;
    Row destination(size_t i, Type type, bool any_width = false) override {
        return destination(at(i), type, any_width);
    }
    Row destination(const Operand& operand, Type type, bool any_width = false) override;
    bool is_predicate(const Operand& operand) const override {
        return operand.kind == OperandKind::reg && operand.reg >= 0 && b.register_row(operand.reg).element_bytes == 0;
    }
    Row predicate_source(size_t i) override { return predicate_source(at(i)); }
    Row predicate_source(const Operand& operand);
    Row constant(uint64_t bits, int element_bytes) override { return b.constant(bits, element_bytes); }
    Row scratch(int element_bytes) override;
    Row carry_flag() override { return b.carry_flag(); }
    Address address(size_t i, std::string_view space) override;
    Op& emit(Exec exec) override;
    Op* earlier(Row base) override {
        auto found = b.run.find(base.offset);
        return found == b.run.end() ? nullptr : &b.function.code[found->second];
    }
    void remember(Row base, const Op& op) override {
        if (optimisations().plans) b.run[base.offset] = static_cast<size_t>(&op - b.function.code.data());
    }
    Row run_row(size_t bytes) override;
    std::optional<int64_t> stride(size_t i) const override {
        const Operand& operand = in.operands[i];
        if (operand.kind != OperandKind::address || operand.reg < 0) return std::nullopt;
        return b.affine.stride[static_cast<size_t>(operand.reg)];
    }
    void set_affine_exec(Exec exec) override { b.affine_execs[b.function.code.size() - 1] = exec; }
    const void* keep(std::shared_ptr<const void> data) override {
        b.program.kept.push_back(std::move(data));
        return b.program.kept.back().get();
    }
    int sm() const override { return target_number(b.program); }
    const std::string& target() const override { return b.program.target; }
    [[noreturn]] void unsupported(const std::string& why = "") override { fail("", why); }

  private:
    [[noreturn]] void fail(const std::string& what, const std::string& why = "");
    const Operand& at(size_t i) {
        if (i >= in.operands.size()) fail("has too few operands");
        return in.operands[i];
    }
    Row checked(const Operand& operand, Type type, bool any_width);
    Row symbol(const Operand& operand, int element_bytes);
    bool decode_flow();
    void decode_call();
    void decode_stack();
    Slot argument(const Operand& operand, uint32_t bytes);

    FunctionBuilder& b;
    uint32_t line_ = 0;
    size_t scratch_used_[17] = {};
};

void InstructionDecoder::fail(const std::string& what, const std::string& why) {
    std::string text = place_text(b.program, in.location) + "instruction '" + in.text() + "' " +
                       (what.empty() ? "is not supported by softcuda yet" : what);
    if (!why.empty()) text += ": " + why;
    throw LoadError(text + " (PTX line " + std::to_string(in.ptx_line) + ")");
}

Row InstructionDecoder::scratch(int element_bytes) {
    auto& pool = b.scratch_pool[element_bytes];
    size_t& used = scratch_used_[element_bytes];
    if (used == pool.size()) pool.push_back(b.allocate(element_bytes));
    return pool[used++];
}

Row InstructionDecoder::run_row(size_t bytes) {
    if (b.run_rows_used == b.run_rows.size())
        b.run_rows.push_back(b.allocate(static_cast<int>((bytes + warp_size - 1) / warp_size)));
    return b.run_rows[b.run_rows_used++];
}

Op& InstructionDecoder::emit(Exec exec) {
    Op op;
    op.exec = exec;
    op.line = line_;
    if (in.predicate != ptx::no_register) {
        op.predicate = b.register_row(in.predicate).offset;
        op.predicate_negated = in.predicate_negated;
    }
    b.function.code.push_back(op);
    return b.function.code.back();
}

Row InstructionDecoder::checked(const Operand& operand, Type type, bool any_width) {
    if (!operand.name.empty() && in.opcode[0] != 'v')
        fail("names a part of a register, as video instructions alone may");
    Row row = b.register_row(operand.reg);
    int wanted = row_bytes(type);
    bool fits = any_width && wanted > 0 ? row.element_bytes >= wanted : row.element_bytes == wanted;
    if (!fits)
        fail("has register " + b.source.registers[static_cast<size_t>(operand.reg)].name + " of " +
             std::to_string(row.element_bytes * 8) + " bits where " + std::to_string(wanted * 8) + " are due");
    return row;
}

Row InstructionDecoder::predicate_source(const Operand& operand) {
    if (operand.kind == OperandKind::integer) {
        uint32_t bits = operand.bits ? all_lanes : 0;
        return b.constant(operand.negated ? ~bits : bits, 0);
    }
    if (operand.kind == OperandKind::special && operand.name == "%is_explicit_cluster" && !operand.negated)
        return b.special(Special::is_explicit_cluster, 0);
    if (operand.kind != OperandKind::reg) fail("needs a predicate register");
    Row row = checked(operand, Type::pred, false);
    if (!operand.negated) return row;
    Row inverted = scratch(0);
    Op& op = emit(exec_not_predicate);
    op.dst = inverted.offset;
    op.a = row.offset;
    return inverted;
}

Row InstructionDecoder::source(const Operand& operand, Type type, bool any_width) {
    if (type == Type::pred) return predicate_source(operand);
    const int bytes = row_bytes(type);
    switch (operand.kind) {
        case OperandKind::reg: return checked(operand, type, any_width);
        case OperandKind::integer: {
            uint64_t bits = operand.bits;
            if (type == Type::f32) bits = float_bits(static_cast<float>(static_cast<int64_t>(bits)));
            if (type == Type::f64) bits = double_bits(static_cast<double>(static_cast<int64_t>(bits)));
            // A 16-bit row of an 8-bit type holds the value as the type reads it.
            if (type == Type::u8 || type == Type::b8) bits &= 0xff;
            if (type == Type::s8) bits = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(bits)));
            return b.constant(bits, bytes);
        }
        case OperandKind::float32: {
            uint64_t bits = operand.bits & 0xffffffffu;
            if (type == Type::f64)
                bits = double_bits(std::bit_cast<float>(static_cast<uint32_t>(bits)));
            else if (bytes < 4)
                fail("has a 32-bit float where " + std::to_string(bytes * 8) + " bits are due");
            return b.constant(bits, bytes);
        }
        case OperandKind::float64: {
            uint64_t bits = operand.bits;
            if (bytes == 4)
                bits = float_bits(static_cast<float>(std::bit_cast<double>(bits)));
            else if (bytes < 4)
                fail("has a 64-bit float where " + std::to_string(bytes * 8) + " bits are due");
            return b.constant(bits, bytes);
        }
        case OperandKind::special: {
            if (operand.name == "WARP_SZ") return b.constant(warp_size, bytes);
            Special which;
            if (!special_from_name(operand.name, which))
                fail("reads special register " + operand.name + ", which softcuda does not have yet");
            if (!is_dynamic(which)) return b.special(which, bytes);
            Row row = scratch(bytes < 4 ? 4 : bytes);
            Op& op = emit(exec_read_special);
            op.dst = row.offset;
            op.small[0] = static_cast<uint8_t>(which);
            op.small[1] = row.element_bytes;
            return row;
        }
        case OperandKind::symbol: return symbol(operand, bytes);
        default: fail("has an operand that softcuda does not expect there");
    }
}

Row InstructionDecoder::destination(const Operand& operand, Type type, bool any_width) {
    if (operand.kind == OperandKind::sink ||
        ((operand.kind == OperandKind::reg || operand.kind == OperandKind::reg_pair) && operand.reg < 0))
        return scratch(row_bytes(type));
    if (operand.kind != OperandKind::reg && operand.kind != OperandKind::reg_pair)
        fail("needs a register for its result");
    return checked(operand, type, any_width);
}

// A row with the address of a variable or function.
Row InstructionDecoder::symbol(const Operand& operand, int element_bytes) {
    const auto offset = static_cast<uint64_t>(operand.offset);
    auto plus = [&](Row base, uint64_t amount) {
        if (amount == 0) return base;
        Row sum = scratch(element_bytes);
        Op& op = emit(element_bytes == 8 ? exec_add64 : exec_add32);
        op.dst = sum.offset;
        op.a = base.offset;
        op.imm = amount;
        return sum;
    };
    if (auto found = b.local_offsets.find(operand.name); found != b.local_offsets.end())
        return plus(b.special(Special::local_base, element_bytes), offset + found->second);
    if (b.source.is_entry)
        for (size_t i = 0; i < b.source.params.size(); ++i)
            if (b.source.params[i].name == operand.name)
                return b.constant(b.function.params[i].offset + offset, element_bytes);
    if (b.slots.contains(operand.name))
        fail("takes the address of parameter " + operand.name + ", which softcuda cannot do yet");
    switch (Layout::Place place = b.layout.find(b.source.name, operand.name); place.kind) {
        case Layout::Kind::address: return b.constant(place.value + offset, element_bytes);
        case Layout::Kind::shared: return b.constant(place.value + offset, element_bytes);
        case Layout::Kind::dynamic_shared: return plus(b.special(Special::dynamic_shared_base, element_bytes), offset);
        case Layout::Kind::function:
            return b.constant(b.program.function_base + 16 * place.value + offset, element_bytes);
        case Layout::Kind::unknown: break;
    }
    fail("names " + ptx::demangled(operand.name) + ", which is defined nowhere");
}

Address InstructionDecoder::address(size_t i, std::string_view space) {
    const Operand& operand = at(i);
    if (operand.kind != OperandKind::address) fail("needs an address");
    Address result;
    result.offset = static_cast<uint64_t>(operand.offset);
    const bool is_param = space.starts_with("param");
    if (operand.reg >= 0) {
        result.base = b.register_row(operand.reg);
        if (result.base.element_bytes != 4 && result.base.element_bytes != 8)
            fail("has an address of neither 32 nor 64 bits");
        if (is_param) {
            if (!b.source.is_entry) fail("", "parameters of a device function through a pointer");
            result.kind = Address::Kind::kernel_param;
        }
        return result;
    }
    if (operand.name.empty()) {
        result.base = b.constant(0, 8);
        if (is_param) result.kind = Address::Kind::kernel_param;
        return result;
    }
    if (auto slot = b.slots.find(operand.name); is_param && slot != b.slots.end()) {
        result.kind = Address::Kind::slot;
        result.slot = slot->second;
        return result;
    }
    if (b.source.is_entry)
        for (size_t k = 0; k < b.source.params.size(); ++k)
            if (b.source.params[k].name == operand.name) {
                result.kind = Address::Kind::kernel_param;
                result.offset += b.function.params[k].offset;
                return result;
            }
    Operand name = operand;
    name.kind = OperandKind::symbol;
    name.offset = 0;
    result.base = symbol(name, 8);
    return result;
}

void InstructionDecoder::decode() {
    if (decode_flow()) return b.end_run();
    DecodeFn decode = operation_table().find(in.opcode);
    if (!decode) unsupported();
    size_t before = b.function.code.size();
    decode(*this);
    if (!all_taken()) unsupported();
    // An instruction may turn out to be nothing (prefetch); its guard and its line still count as one.
    if (b.function.code.size() == before) emit(exec_nothing);
    for (int32_t r : may_write(in)) b.run.erase(b.register_row(r).offset);
}

// What decode_flow() decodes.
void register_control(OperationTable& table) {
    table.add("bra", nullptr, {Effect::none, Flow::branch});
    table.add("brx", nullptr, {Effect::none, Flow::branch_table});
    table.add("ret", nullptr, {Effect::none, Flow::ret});
    table.add("exit", nullptr, {Effect::none, Flow::exit});
    table.add("call", nullptr, {Effect::unknown, Flow::call});
    for (const char* opcode : {"trap", "brkpt", "pmevent", "setmaxnreg", "stackrestore"})
        table.add(opcode, nullptr, {Effect::none});
    for (const char* opcode : {"alloca", "stacksave"}) table.add(opcode, nullptr);
}

bool InstructionDecoder::decode_flow() {
    const std::string& opcode = in.opcode;
    if (opcode == "bra") {
        take("uni");
        if (!all_taken() || count() != 1 || at(0).kind != OperandKind::symbol) unsupported();
        emit(nullptr).flow = Flow::branch;
        b.jumps.emplace_back(b.function.code.size() - 1, at(0).name);
    } else if (opcode == "brx") {
        take("idx"), take("uni");
        if (!all_taken() || count() != 2) unsupported();
        auto found = b.source.branch_targets.find(at(1).name);
        if (found == b.source.branch_targets.end()) fail("names " + at(1).name + ", which is no .branchtargets");
        auto targets = std::make_shared<std::vector<uint32_t>>();
        for (const std::string& label : found->second) {
            auto place = b.source.labels.find(label);
            if (place == b.source.labels.end()) fail("names label " + label + ", which is nowhere");
            targets->push_back(place->second);  // PTX instruction for now; build() makes it an op
        }
        uint32_t index = source(0, Type::u32).offset;
        Op& op = emit(nullptr);
        op.flow = Flow::branch_table;
        op.a = index;
        op.extra = keep(targets);
    } else if (opcode == "ret" || opcode == "exit") {
        take("uni");
        if (!all_taken()) unsupported();
        emit(nullptr).flow = opcode == "ret" ? Flow::ret : Flow::exit;
    } else if (opcode == "trap") {
        if (!all_taken()) unsupported();
        emit(exec_trap);
    } else if (opcode == "brkpt" || opcode == "pmevent") {
        take("mask");
        if (!all_taken()) unsupported();
        emit(exec_nothing);
    } else if (opcode == "setmaxnreg") {  // registers are no resource here: nobody waits for any
        if (take_one({"inc", "dec"}) < 0 || !take("sync") || !take("aligned") || !take("u32") || !all_taken())
            unsupported();
        if (count() != 1 || at(0).kind != OperandKind::integer || at(0).bits % 8 || at(0).bits < 24 || at(0).bits > 256)
            unsupported("the number of registers is a constant, a multiple of 8 from 24 to 256");
        emit(exec_nothing);
    } else if (opcode == "call") {
        decode_call();
    } else if (opcode == "alloca" || opcode == "stacksave" || opcode == "stackrestore") {
        decode_stack();
    } else {
        return false;
    }
    return true;
}

void InstructionDecoder::decode_stack() {
    Type type = take_type();
    if (!all_taken() || (type != Type::u32 && type != Type::u64)) unsupported();
    const uint32_t taken = b.stack_row().offset;
    if (in.opcode == "stacksave") {
        uint32_t result = destination(0, type).offset;
        Op& op = emit(type == Type::u64 ? exec_stack_save<uint64_t> : exec_stack_save<uint32_t>);
        op.dst = result, op.d = taken;
    } else if (in.opcode == "stackrestore") {
        uint32_t saved = source(0, type).offset;
        Op& op = emit(type == Type::u64 ? exec_stack_restore<uint64_t> : exec_stack_restore<uint32_t>);
        op.a = saved, op.d = taken;
    } else {
        uint64_t align = 8;
        if (count() == 3) align = std::max<uint64_t>(8, at(2).bits);
        if (count() < 2 || count() > 3 || (count() == 3 && at(2).kind != OperandKind::integer) ||
            !std::has_single_bit(align) || align > (1 << 23))
            unsupported("an alignment that is no power of two");
        uint32_t size = source(1, type).offset, result = destination(0, type).offset;
        uint32_t base = b.special(Special::local_base, 4).offset;
        Op& op = emit(exec_alloca);
        op.dst = result, op.a = size, op.b = base, op.d = taken, op.imm = b.function.local_bytes;
        op.small[0] = type == Type::u64 ? 8 : 4;
        op.small[1] = static_cast<uint8_t>(std::countr_zero(align));
    }
}

Slot InstructionDecoder::argument(const Operand& operand, uint32_t bytes) {
    if (operand.kind == OperandKind::symbol) {
        auto slot = b.slots.find(operand.name);
        if (slot == b.slots.end()) fail("passes " + operand.name + ", which is no .param variable");
        return slot->second;
    }
    if (operand.kind == OperandKind::sink) return b.allocate_slot(bytes);
    if (operand.kind == OperandKind::reg) {
        Row row = b.register_row(operand.reg);
        if (row.element_bytes == 0) fail("passes a predicate");
        return {row.offset, row.element_bytes};
    }
    Row row = source(operand, bytes == 8 ? Type::b64 : bytes == 2 ? Type::b16 : Type::b32);
    return {row.offset, row.element_bytes};
}

void InstructionDecoder::decode_call() {
    take("uni");
    if (!all_taken()) unsupported();
    size_t next = 0;
    const Operand* returns = nullptr;
    const Operand* params = nullptr;
    if (at(0).kind == OperandKind::list) returns = &at(next++);
    const Operand& callee = at(next++);
    if (next < count() && at(next).kind == OperandKind::list) params = &at(next++);
    const Operand* shape = next < count() ? &at(next) : nullptr;

    auto site = std::make_shared<CallSite>();
    const std::vector<ptx::Variable>*expected_params = nullptr, *expected_returns = nullptr;
    const ptx::Function* target = nullptr;
    if (callee.kind == OperandKind::symbol) {
        site->callee = callee.name;
        if (auto alias = b.module.aliases.find(site->callee); alias != b.module.aliases.end())
            site->callee = alias->second;
        target = b.layout.function(site->callee);
        if (!target) fail("calls " + ptx::demangled(site->callee) + ", which is defined nowhere");
        if (target->is_entry) fail("calls " + ptx::demangled(site->callee) + ", which is a kernel");
        expected_params = &target->params;
        expected_returns = &target->returns;
    } else if (shape) {
        if (auto found = b.source.prototypes.find(shape->name); found != b.source.prototypes.end()) {
            expected_params = &found->second.params;
            expected_returns = &found->second.returns;
        }
    }
    auto gather = [&](const Operand* list, const std::vector<ptx::Variable>* expected, std::vector<Slot>& slots) {
        size_t given = list ? list->elements.size() : 0;
        if (expected && expected->size() != given)
            fail("passes " + std::to_string(given) + " values where " + std::to_string(expected->size()) + " are due");
        for (size_t i = 0; i < given; ++i) {
            uint32_t bytes = expected ? static_cast<uint32_t>((*expected)[i].bytes) : 4;
            slots.push_back(argument(list->elements[i], bytes));
        }
    };
    gather(params, expected_params, site->params);
    gather(returns, expected_returns, site->returns);
    if (target && !target->has_body) {
        Exec exec = builtin(site->callee);
        if (!exec)
            fail("calls " + ptx::demangled(site->callee) +
                 ", which is neither defined in the module nor known to softcuda");
        emit(exec).extra = keep(site);
        return;
    }
    if (target) {
        uint32_t index = b.program.function_index.at(site->callee);
        Op& op = emit(nullptr);
        op.flow = Flow::call;
        op.target = index;
        op.extra = keep(site);
        return;
    }
    uint32_t address = source(callee, Type::u64).offset;
    Op& op = emit(nullptr);
    op.flow = Flow::call_indirect;
    op.a = address;
    op.extra = keep(site);
}

// --- FunctionBuilder

namespace {

constexpr uint32_t param_limit = 32764, local_limit = 512u << 10;  // bytes: the hardware's

// The clock registers count the instructions that have run.
bool reads_clock(const ptx::Function& function) {
    auto is_clock = [](const Operand& operand) {
        return operand.kind == OperandKind::special && operand.name.starts_with("%clock");
    };
    return std::any_of(function.body.begin(), function.body.end(), [&](const ptx::Instruction& instruction) {
        return std::any_of(instruction.operands.begin(), instruction.operands.end(), is_clock);
    });
}

}  // namespace

FunctionBuilder::FunctionBuilder(const Layout& layout, const ptx::Module& module, const ptx::Function& source,
                                 Program& program, Function& function, bool bases)
    : layout(layout),
      module(module),
      source(source),
      program(program),
      function(function),
      as_written_(!source.is_entry || reads_clock(source)),
      hoisting_(as_written_ || !optimisations().hoisting ? Hoisting(source) : find_hoisting(source)),
      allocation_(
          allocate_registers(source, bases ? std::vector<bool>(source.registers.size(), true) : hoisting_.kept)) {
    rows_.resize(source.registers.size());
    if (!as_written_ && !bases && optimisations().affine) affine = find_affine_values(source);
    affine.stride.resize(source.registers.size());
}

void FunctionBuilder::declare() {
    if (source.is_entry) {
        // Kernel parameters are laid out like the members of a struct.
        uint32_t offset = 0;
        for (const ptx::Variable& param : source.params) {
            uint32_t align = std::max(1u, param.align);
            offset = (offset + align - 1) / align * align;
            if (offset > param_limit || param.bytes > param_limit - offset)
                throw LoadError("kernel " + ptx::demangled(source.name) + " has more than " +
                                std::to_string(param_limit) + " bytes of parameters (PTX line " +
                                std::to_string(param.ptx_line) + ")");
            function.params.push_back({offset, static_cast<uint32_t>(param.bytes), align});
            offset += static_cast<uint32_t>(param.bytes);
        }
        function.param_bytes = offset;
    } else {
        auto add = [&](const std::vector<ptx::Variable>& variables, std::vector<Slot>& out) {
            for (const ptx::Variable& variable : variables) {
                Slot slot;
                if (variable.space == "reg") {
                    for (size_t i = 0; i < source.registers.size(); ++i)
                        if (source.registers[i].name == variable.name) {
                            Row row = register_row(static_cast<int32_t>(i));
                            slot = {row.offset, row.element_bytes};
                        }
                } else {
                    slot = allocate_slot(variable.bytes);
                    slots[variable.name] = slot;
                }
                out.push_back(slot);
            }
        };
        add(source.params, function.param_slots);
        add(source.returns, function.return_slots);
    }
    for (const ptx::Variable& variable : source.variables) {
        if (variable.space == "param") slots[variable.name] = allocate_slot(variable.bytes);
        if (variable.space == "local") {
            uint32_t align = std::max(1u, variable.align);
            uint32_t offset = (function.local_bytes + align - 1) / align * align;
            if (offset > local_limit || variable.bytes > local_limit - offset)
                throw LoadError("function " + ptx::demangled(source.name) + " has more than " +
                                std::to_string(local_limit >> 10) + " KiB of local variables (PTX line " +
                                std::to_string(variable.ptx_line) + ")");
            local_offsets[variable.name] = offset;
            function.local_bytes = offset + static_cast<uint32_t>(variable.bytes);
        }
    }
}

void FunctionBuilder::write_image() {
    function.frame_bytes = (size_ + 63) / 64 * 64;
    function.image.assign(function.frame_bytes, std::byte{0});
    for (const auto& [key, row] : constants_) {
        std::byte* at = function.image.data() + row.offset;
        if (row.element_bytes == 0) {
            auto mask = static_cast<uint32_t>(key.first);
            std::memcpy(at, &mask, 4);
            continue;
        }
        for (int lane = 0; lane < warp_size; ++lane)
            std::memcpy(at + lane * row.element_bytes, &key.first, std::min<size_t>(row.element_bytes, 8));
    }
}

void FunctionBuilder::build() {
    declare();
    std::vector<uint32_t> first_op(source.body.size() + 1);
    std::vector<bool> labelled(source.body.size() + 1, false);
    for (const auto& [name, at] : source.labels) labelled[at] = true;
    const size_t first_location = program.locations.size();  // one an instruction
    for (size_t i = 0; i < source.body.size(); ++i) {
        if (labelled[i]) end_run();
        first_op[i] = static_cast<uint32_t>(function.code.size());
        moves_ = moves_to_bases(i);
        InstructionDecoder(source.body[i], *this).decode();
    }
    first_op[source.body.size()] = static_cast<uint32_t>(function.code.size());
    Op end;  // the end of a body is a return
    end.flow = Flow::ret;
    end.line = static_cast<uint32_t>(program.locations.size());
    program.locations.push_back({source.location.file, source.location.line, 0, "end of " + source.name});
    function.code.push_back(end);
    for (auto& [op, label] : jumps) {
        auto found = source.labels.find(label);
        if (found == source.labels.end())
            throw LoadError("function " + ptx::demangled(source.name) + ": label " + label + " is nowhere");
        function.code[op].target = first_op[found->second];
    }
    for (Op& op : function.code) {
        if (op.flow != Flow::branch_table) continue;
        auto& targets = *static_cast<std::vector<uint32_t>*>(const_cast<void*>(op.extra));
        for (uint32_t& target : targets) target = first_op[target];
    }
    if (std::any_of(source.body.begin(), source.body.end(), [](const auto& in) { return in.opcode == "wgmma"; })) {
        program.register_uses.resize(program.locations.size());
        for (size_t i = 0; i < source.body.size(); ++i) {
            const RegistersUsed used = registers_used(source.body[i]);
            RegisterUse& rows = program.register_uses[first_location + i];
            for (int32_t reg : used.read) rows.read.push_back(register_row(reg).offset);
            for (int32_t reg : used.written) rows.written.push_back(register_row(reg).offset);
        }
    }
    if (program.operands) {
        program.operands->resize(program.locations.size());
        std::vector<Operands> all = operands_of(source);
        for (size_t i = 0; i < all.size(); ++i) {
            for (auto* values : {&all[i].written, &all[i].given})
                for (Value& value : *values)
                    if (value.register_index >= 0) value.row = register_row(value.register_index);
            (*program.operands)[first_location + i] = std::move(all[i]);
        }
    }
    optimise(first_op);
    write_image();
    const auto begin = function.specials.begin();
    const auto rest = std::stable_partition(begin, function.specials.end(),
                                            [](const auto& special) { return changes_by_block(special.first); });
    function.block_specials = static_cast<uint32_t>(rest - begin);
    const auto asked = std::stable_partition(
        begin, rest, [&](const auto& special) { return asked_by_warps_.contains(special.first); });
    function.affine_specials = static_cast<uint32_t>(asked - begin);
}

// --- the program

const Function* Program::find(const std::string& name) const {
    auto found = function_index.find(name);
    return found == function_index.end() ? nullptr : functions[found->second].get();
}

std::string Program::where(const Op& op) const {
    const SourceLine& line = locations.at(op.line);
    std::string text;
    if (line.line && line.file < files.size() && !files[line.file].empty())
        text = files[line.file] + ":" + std::to_string(line.line);
    else
        text = "PTX line " + std::to_string(line.ptx_line);
    return text + " (" + line.text + ")";
}

int target_number(const Program& program) {
    size_t at = program.target.find_first_of("0123456789");
    return at == std::string::npos ? 0 : std::atoi(program.target.c_str() + at);
}

uint32_t shared_begin(const Program& program) { return target_number(program) >= 80 ? shared_reserved : 0; }

std::string place_text(const Program& program, const ptx::Location& at) {
    if (at.line == 0 || at.file >= program.files.size() || program.files[at.file].empty()) return "";
    return program.files[at.file] + ":" + std::to_string(at.line) + ": ";
}

void build_function(const Layout& layout, const ptx::Module& module, const ptx::Function& source, Program& program,
                    Function& function) {
    FunctionBuilder(layout, module, source, program, function).build();
}

}  // namespace softcuda
