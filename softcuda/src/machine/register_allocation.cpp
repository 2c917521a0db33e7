// Liveness over basic blocks, then a linear scan.
//
// A lane writes only its own elements of a row, and what a lane does is one path through the function.  So two registers
// may share a row if no path has both alive, however the lanes of a warp diverge; and if their elements have the same
// size, since else lane 3's element of one would lie over lane 7's of the other.
#include "machine/register_allocation.h"

#include <algorithm>

#include "machine/effects.h"
#include "machine/optimisations.h"

namespace softcuda {

using ptx::Operand;
using ptx::OperandKind;

namespace {

bool whole(const Operand& operand) {  // no %r1.b0
    return operand.kind != OperandKind::address && operand.name.empty() &&
           std::all_of(operand.elements.begin(), operand.elements.end(), whole);
}

// Unless it is sure that its first operand is only written, what an instruction mentions counts as read: such a register's
// row is shared less, and nothing else.
struct Touched {
    std::vector<int32_t> read, written;
};
Touched touched(const ptx::Instruction& instruction, const std::vector<int32_t>& products) {
    Touched result;
    // What waits may read and write the registers of all products under way.
    if (instruction.opcode == "wgmma" || instruction.opcode == "call") result.read = products;
    if (instruction.predicate >= 0) result.read.push_back(instruction.predicate);
    const Effect effect = effect_of(instruction);
    const bool writes_first = effect == Effect::pure || effect == Effect::writes_first;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const bool writes = i == 0 && instruction.predicate < 0 && writes_first;
        mentioned(operand, writes && whole(operand) ? result.written : result.read);
    }
    return result;
}

using Bits = std::vector<uint64_t>;
void set(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) / 64] |= uint64_t(1) << (i % 64); }
void clear(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) / 64] &= ~(uint64_t(1) << (i % 64)); }

struct BasicBlock {
    size_t begin = 0, end = 0;
    std::vector<size_t> next;
    Bits read, written;  // read before written in it; written in it
    Bits live_in, live_out;
};

class Liveness {
  public:
    explicit Liveness(const ptx::Function& source) : function(source) {
        for (const ptx::Instruction& instruction : source.body)
            if (instruction.opcode == "wgmma")
                for (const Operand& operand : instruction.operands) mentioned(operand, products);
        std::sort(products.begin(), products.end());
        products.erase(std::unique(products.begin(), products.end()), products.end());
        split();
        link();
    }
    size_t size() const { return blocks.size() * function.registers.size(); }
    void solve();

    const ptx::Function& function;
    std::vector<int32_t> products;  // registers that wgmma names
    std::vector<BasicBlock> blocks;

  private:
    void split();
    void link();
    std::vector<size_t> block_at_;  // by instruction
};

bool ends_block(const ptx::Instruction& i) {
    const Flow flow = operation_table().facts(i.opcode).flow;
    return flow == Flow::branch || flow == Flow::branch_table || flow == Flow::ret || flow == Flow::exit;
}

void Liveness::split() {
    std::vector<bool> begins(function.body.size() + 1, false);
    begins[0] = true;
    for (const auto& [name, at] : function.labels) begins[at] = true;
    for (size_t i = 0; i < function.body.size(); ++i)
        if (ends_block(function.body[i])) begins[i + 1] = true;
    for (size_t i = 0; i < function.body.size(); ++i) {
        if (begins[i]) blocks.emplace_back().begin = i;
        blocks.back().end = i + 1;
        block_at_.push_back(blocks.size() - 1);
    }
}

void Liveness::link() {
    auto to_label = [&](BasicBlock& block, const std::string& name) {
        auto found = function.labels.find(name);
        if (found != function.labels.end() && found->second < function.body.size())
            block.next.push_back(block_at_[found->second]);
    };
    for (BasicBlock& block : blocks) {
        const ptx::Instruction& last = function.body[block.end - 1];
        if (last.opcode == "bra" && !last.operands.empty()) to_label(block, last.operands[0].name);
        if (last.opcode == "brx" && last.operands.size() > 1)
            if (auto table = function.branch_targets.find(last.operands[1].name);
                table != function.branch_targets.end())
                for (const std::string& label : table->second) to_label(block, label);
        const bool falls_through = last.predicate >= 0 || !ends_block(last);
        if (falls_through && block.end < function.body.size()) block.next.push_back(block_at_[block.end]);
    }
}

void Liveness::solve() {
    const Bits none((function.registers.size() + 63) / 64, 0);
    for (BasicBlock& block : blocks) {
        block.read = block.written = block.live_in = block.live_out = none;
        for (size_t i = block.end; i-- > block.begin;) {
            const Touched touches = touched(function.body[i], products);
            for (int32_t r : touches.written) set(block.written, r), clear(block.read, r);
            for (int32_t r : touches.read) set(block.read, r);
        }
        block.live_in = block.read;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = blocks.size(); b-- > 0;) {
            BasicBlock& block = blocks[b];
            for (size_t w = 0; w < none.size(); ++w) {
                for (size_t next : block.next) block.live_out[w] |= blocks[next].live_in[w];
                const uint64_t in = block.read[w] | (block.live_out[w] & ~block.written[w]);
                changed = changed || in != block.live_in[w];
                block.live_in[w] = in;
            }
        }
    }
}

struct Interval {  // of positions in the function's text, both ends included
    int64_t begin = INT64_MAX, end = -1;
    void hold(int64_t at) { begin = std::min(begin, at), end = std::max(end, at); }
};

std::vector<Interval> intervals(const Liveness& live) {
    std::vector<Interval> result(live.function.registers.size());
    auto hold_all = [&](const Bits& bits, size_t at) {
        for (size_t r = 0; r < result.size(); ++r)
            if (bits[r / 64] >> (r % 64) & 1) result[r].hold(static_cast<int64_t>(at));
    };
    for (const BasicBlock& block : live.blocks) {
        hold_all(block.live_in, block.begin);
        hold_all(block.live_out, block.end - 1);
        for (size_t i = block.begin; i < block.end; ++i) {
            const Touched touches = touched(live.function.body[i], live.products);
            for (int32_t r : touches.read) result[static_cast<size_t>(r)].hold(static_cast<int64_t>(i));
            for (int32_t r : touches.written) result[static_cast<size_t>(r)].hold(static_cast<int64_t>(i));
        }
    }
    return result;
}

}  // namespace

RegisterAllocation allocate_registers(const ptx::Function& function, const std::vector<bool>& kept) {
    const size_t count = function.registers.size();
    RegisterAllocation result;
    for (size_t r = 0; r < count; ++r) result.fresh.push_back(!kept[r]);
    for (size_t r = 0; r < count; ++r) result.row_of.push_back(static_cast<int32_t>(r));
    constexpr size_t most = size_t(1) << 28;  // bits; beyond, the memory for this would be more than it saves
    if (function.body.empty() || !optimisations().registers) return result;
    Liveness live(function);
    if (live.size() > most) return result;
    live.solve();
    const std::vector<Interval> alive = intervals(live);

    std::vector<bool> own(count, false);  // callers put values in, or take them out: a row of its own
    for (const auto* variables : {&function.params, &function.returns})
        for (const ptx::Variable& variable : *variables)
            for (size_t r = 0; r < count; ++r) own[r] = own[r] || function.registers[r].name == variable.name;
    std::vector<size_t> order;
    for (size_t r = 0; r < count; ++r) {
        const bool at_entry = live.blocks[0].live_in[r / 64] >> (r % 64) & 1;
        result.fresh[r] = (at_entry || own[r]) && !kept[r];
        if (alive[r].end >= 0 && !result.fresh[r] && !kept[r]) order.push_back(r);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return alive[a].begin < alive[b].begin; });

    struct Held {
        int64_t end;
        int32_t row_of;
    };
    std::vector<Held> held[17];  // by size of element: rows and until when they are taken
    for (size_t r : order) {
        const ptx::Type type = function.registers[r].type;
        auto& rows = held[type == ptx::Type::pred ? 0 : std::clamp(ptx::bytes_of(type), 2, 16)];
        // An instruction's result never shares with its operands: it may be written in several steps.
        auto free = std::find_if(rows.begin(), rows.end(), [&](const Held& h) { return h.end < alive[r].begin; });
        if (free == rows.end()) {
            rows.push_back({alive[r].end, static_cast<int32_t>(r)});
        } else {
            free->end = alive[r].end;
            result.row_of[r] = free->row_of;
        }
    }
    return result;
}

}  // namespace softcuda
