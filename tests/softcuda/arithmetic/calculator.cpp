// Runs single PTX instructions on rows of values: a Decoder and a Warp with nothing behind them.
//
// Standard input, in words:  LEVEL OPCODE.MODIFIERS MASK ROWS OPERANDS OPERAND...
// then ROWS * 32 values in hex for every register, in the order of the operands; a predicate has ROWS words.
// Operands: r2 r4 r8 r16 (a register of that many bytes; r4.b1, -r4: a part of one, negated), p, pair:p,p or pair:r4,p, vec:r4,r4 (registers), i:HEX, f:HEX, _.
// Answers the values of all registers afterwards, or "error: ..." as the loader would say it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "machine/decode.h"
#include "machine/warp.h"

namespace softcuda {

void OperationTable::add(std::string_view opcode, DecodeFn decode, OpcodeFacts facts) {
    if (!table_.emplace(opcode, Operation{decode, facts}).second)
        throw std::logic_error("twice: " + std::string(opcode));
}
DecodeFn OperationTable::find(std::string_view opcode) const {
    auto found = table_.find(std::string(opcode));
    return found == table_.end() ? nullptr : found->second.decode;
}
bool Decoder::take(std::string_view modifier) {
    for (size_t i = 0; i < in.modifiers.size(); ++i)
        if (in.modifiers[i] == modifier && !(taken_ >> i & 1)) return taken_ |= uint64_t(1) << i, true;
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
    ptx::Type type = ptx::Type::none;
    for (size_t i = 0; i < in.modifiers.size(); ++i)
        if (!(taken_ >> i & 1) && ptx::type_from_name(in.modifiers[i], type)) return taken_ |= uint64_t(1) << i, type;
    return ptx::Type::none;
}
bool Decoder::all_taken() const { return taken_ == (uint64_t(1) << in.modifiers.size()) - 1; }
void Warp::fault(FaultKind, const Op&, int, const std::string& what) { throw std::runtime_error(what); }

namespace {

struct Register {
    uint32_t offset;
    int bytes;  // 0: predicate
};

class Calculator : public Decoder {
  public:
    Calculator(const ptx::Instruction& instruction, std::vector<Register> registers)
        : Decoder(instruction), registers_(std::move(registers)), frame_(1 << 16) {
        for (const Register& r : registers_) top_ = std::max(top_, r.offset + 512);
    }
    Row source(size_t i, ptx::Type type, bool any) override { return source(in.operands.at(i), type, any); }
    Row source(const ptx::Operand& operand, ptx::Type type, bool any) override {
        if (operand.kind != ptx::OperandKind::reg) return constant(operand.bits, std::max(2, ptx::bytes_of(type)));
        return checked(operand, type, any);
    }
    Row destination(size_t i, ptx::Type type, bool any) override { return destination(in.operands.at(i), type, any); }
    Row destination(const ptx::Operand& operand, ptx::Type type, bool any) override {
        if (operand.kind == ptx::OperandKind::sink) return scratch(16);
        return checked(operand, type, any);
    }
    bool is_predicate(const ptx::Operand& operand) const override {
        return operand.kind == ptx::OperandKind::reg && operand.reg >= 0 &&
               registers_.at(size_t(operand.reg)).bytes == 0;
    }
    Row predicate_source(size_t i) override { return checked(in.operands.at(i), ptx::Type::pred, false); }
    Address address(size_t, std::string_view) override { unsupported("no memory here"); }
    Row constant(uint64_t bits, int bytes) override {
        Row row = scratch(bytes);
        for (int i = 0; i < warp_size; ++i)
            std::memcpy(frame_.data() + row.offset + i * bytes, &bits, std::min(bytes, 8));
        return row;
    }
    Row scratch(int bytes) override { return {std::exchange(top_, top_ + 512), uint8_t(bytes)}; }
    Row carry_flag() override { return {0, 0}; }
    Op& emit(Exec exec) override { return ops.emplace_back(Op{.exec = exec}); }
    const void* keep(std::shared_ptr<const void> data) override { return kept_.emplace_back(std::move(data)).get(); }
    Op* earlier(Row) override { return nullptr; }
    void remember(Row, const Op&) override {}
    Row run_row(size_t) override { unsupported("no runs here"); }
    int sm() const override { return 90; }
    const std::string& target() const override { return target_; }
    std::optional<int64_t> stride(size_t) const override { return std::nullopt; }
    void set_affine_exec(Exec) override {}
    [[noreturn]] void unsupported(const std::string& why) override {
        throw LoadError(why.empty() ? "unsupported" : why);
    }

    std::byte* frame() { return frame_.data(); }
    std::deque<Op> ops;

  private:
    Row checked(const ptx::Operand& operand, ptx::Type type, bool any) {
        const Register& r = registers_.at(size_t(operand.reg));
        int wanted = type == ptx::Type::pred ? 0 : std::max(2, ptx::bytes_of(type));
        if (any ? r.bytes < wanted : r.bytes != wanted) throw LoadError("a register of the wrong size");
        return {r.offset, uint8_t(r.bytes)};
    }
    const std::string target_ = "sm_90a";
    std::vector<Register> registers_;
    std::vector<std::byte> frame_;
    std::vector<std::shared_ptr<const void>> kept_;
    uint32_t top_ = 512;  // the first row is the carry flag
};

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
    return parts;
}

struct Parser {
    std::vector<Register> registers;
    int32_t add(const std::string& word) {
        int bytes = word == "p" ? 0 : std::atoi(word.c_str() + 1);
        registers.push_back({uint32_t(512 * (registers.size() + 1)), bytes});
        return int32_t(registers.size()) - 1;
    }
    ptx::Operand operand(const std::string& word) {
        ptx::Operand result;
        if (word == "_") return result;
        if (word[0] == 'i' || word[0] == 'f') {
            result.kind = word[0] == 'i' ? ptx::OperandKind::integer : ptx::OperandKind::float32;
            result.bits = std::strtoull(word.c_str() + 2, nullptr, 16);
        } else if (word.rfind("pair:", 0) == 0) {
            auto parts = split(word.substr(5), ',');
            result.kind = ptx::OperandKind::reg_pair;
            result.reg = parts[0] == "_" ? ptx::sink_register : add(parts[0]);
            result.reg2 = parts[1] == "_" ? ptx::sink_register : add(parts[1]);
        } else if (word.rfind("vec:", 0) == 0) {
            result.kind = ptx::OperandKind::vector;
            for (const std::string& part : split(word.substr(4), ',')) result.elements.push_back(operand(part));
        } else {
            result.kind = ptx::OperandKind::reg;
            result.negated = word[0] == '-';
            auto parts = split(word.substr(result.negated), '.');
            result.reg = add(parts[0]);
            if (parts.size() > 1) result.name = parts[1];
        }
        return result;
    }
};

using Register_fn = void (*)(OperationTable&);
template <Register_fn... families>
OperationTable table_of() {
    OperationTable table;
    (families(table), ...);
    return table;
}
const OperationTable& table(const std::string& level) {
    static const OperationTable generic_table =
        table_of<generic::register_integer, generic::register_float, generic::register_half, generic::register_compare,
                 generic::register_convert>();
#ifdef SOFTCUDA_HAVE_AVX2
    static const OperationTable avx2_table = table_of<avx2::register_integer, avx2::register_float, avx2::register_half,
                                                      avx2::register_compare, avx2::register_convert>();
    if (level == "avx2") return avx2_table;
#endif
#ifdef SOFTCUDA_HAVE_AVX512
    static const OperationTable avx512_table =
        table_of<avx512::register_integer, avx512::register_float, avx512::register_half, avx512::register_compare,
                 avx512::register_convert>();
    if (level == "avx512") return avx512_table;
#endif
    return generic_table;
}

std::string answer(std::istream& input, const std::string& level) {
    std::string name;
    uint32_t mask;
    size_t rows, count;
    input >> name >> std::hex >> mask >> std::dec >> rows >> count;
    auto words = split(name, '.');
    ptx::Instruction instruction;
    instruction.opcode = words[0];
    instruction.modifiers.assign(words.begin() + 1, words.end());
    Parser parser;
    for (size_t i = 0; i < count; ++i) {
        std::string word;
        input >> word;
        instruction.operands.push_back(parser.operand(word));
    }
    std::vector<std::vector<unsigned __int128>> values;
    input >> std::hex;
    for (const Register& r : parser.registers) {
        auto& column = values.emplace_back(r.bytes ? rows * warp_size : rows);
        for (auto& value : column) {
            std::string text;
            input >> text;
            value = 0;
            for (char c : text) value = value << 4 | unsigned(c <= '9' ? c - '0' : c - 'a' + 10);
        }
    }
    Calculator calculator(instruction, parser.registers);
    try {
        DecodeFn decode = table(level).find(instruction.opcode);
        if (!decode) throw LoadError("no such opcode");
        decode(calculator);
        if (!calculator.all_taken()) throw LoadError("a modifier that is not known");
    } catch (const LoadError& error) {
        return std::string("error: ") + error.what();
    }
    Warp warp;
    warp.frame = calculator.frame();
    for (size_t row = 0; row < rows; ++row) {
        auto each = [&](auto move) {
            for (size_t k = 0; k < values.size(); ++k) {
                const Register& r = parser.registers[k];
                std::byte* base = warp.frame + r.offset;
                if (!r.bytes) move(base, &values[k][row], 4);
                for (int i = 0; r.bytes && i < warp_size; ++i)
                    move(base + i * r.bytes, &values[k][row * warp_size + i], size_t(r.bytes));
            }
        };
        std::memset(warp.frame, 0, 512);
        each([](std::byte* at, void* value, size_t n) { std::memcpy(at, value, n); });
        for (const Op& op : calculator.ops) op.exec(warp, op, mask);
        each([](std::byte* at, unsigned __int128* value, size_t n) { *value = 0, std::memcpy(value, at, n); });
    }
    std::string out = "ok";
    for (const auto& column : values)
        for (auto value : column) {
            char text[40];
            std::snprintf(text, sizeof text, " %llx%016llx", (unsigned long long)(value >> 64),
                          (unsigned long long)value);
            out += text;
        }
    return out;
}

}  // namespace
}  // namespace softcuda

int main() {
    std::ios::sync_with_stdio(false);
    std::string level;
    while (std::cin >> std::dec >> level) std::cout << softcuda::answer(std::cin, level) << std::endl;
}
