// One function of a module on its way into Ops: decode.cpp makes its plain stream, optimise.cpp the optimised ones.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/affine.h"
#include "machine/decode.h"
#include "machine/hoisting.h"
#include "machine/layout.h"
#include "machine/register_allocation.h"
#include "machine/specials.h"
#include "ptx/names.h"

namespace softcuda {

// Bytes of a lane's element in the row of a register of this type.
inline int row_bytes(ptx::Type type) { return type == ptx::Type::pred ? 0 : std::max(2, ptx::bytes_of(type)); }

class FunctionBuilder {
  public:
    // `bases`: the function is BaseCode, whose registers all keep their values from block to block.
    FunctionBuilder(const Layout& layout, const ptx::Module& module, const ptx::Function& source, Program& program,
                    Function& function, bool bases = false);
    void build();

    Row allocate(int element_bytes) {
        uint32_t align = element_bytes ? 64 : 4;
        uint32_t bytes = element_bytes ? static_cast<uint32_t>(element_bytes) * warp_size : 4;
        return {grow(align, bytes), static_cast<uint8_t>(element_bytes)};
    }
    Slot allocate_slot(uint64_t bytes) {
        uint32_t offset = grow(64, bytes > frame_limit ? frame_limit : bytes * warp_size);
        Slot slot{offset, static_cast<uint32_t>(bytes)};
        function.fresh.push_back({slot.offset, slot.bytes * warp_size});
        return slot;
    }
    Row register_row(int32_t index) {
        const auto owner = static_cast<size_t>(allocation_.row_of.at(static_cast<size_t>(index)));
        Row& row = rows_[owner];
        if (row.offset == 0) {
            row = allocate(row_bytes(source.registers[owner].type));
            const uint32_t bytes = row.element_bytes ? row.element_bytes * uint32_t(warp_size) : 4;
            if (allocation_.fresh[owner]) function.fresh.push_back({row.offset, bytes});
        }
        return row;
    }
    Row constant(uint64_t bits, int element_bytes) {
        if (element_bytes < 8 && element_bytes > 0) bits &= (uint64_t(1) << (element_bytes * 8)) - 1;
        auto [found, fresh] = constants_.try_emplace({bits, element_bytes});
        if (fresh) found->second = allocate(element_bytes);
        return found->second;
    }
    Row special(Special which, int element_bytes) {
        auto [found, fresh] = specials_.try_emplace({which, element_bytes});
        if (fresh) {
            found->second = allocate(element_bytes);
            function.specials.emplace_back(which, found->second);
        }
        // A row's own are filled when it begins, whether its first block has bases or not.
        if (!moves_ || which == Special::ctaid_y || which == Special::ctaid_z) asked_by_warps_.insert(which);
        return found->second;
    }
    Row stack_row() {
        if (!function.stack_row) {
            Row row = allocate(4);
            function.stack_row = row.offset;
            function.specials.emplace_back(Special::stack_taken, row);
            asked_by_warps_.insert(Special::stack_taken);
        }
        return {function.stack_row, 4};
    }
    Row carry_flag() {
        if (carry_.offset == 0) carry_ = allocate(0);
        return carry_;
    }

    const Layout& layout;
    const ptx::Module& module;
    const ptx::Function& source;
    Program& program;
    Function& function;
    std::unordered_map<std::string, Slot> slots;  // .param variables of calls, params and returns of a device function
    std::unordered_map<std::string, uint32_t> local_offsets;  // .local variables
    std::vector<std::pair<size_t, std::string>> jumps;        // op -> label, patched at the end
    std::vector<Row> scratch_pool[17];                        // by element size; reused by every instruction
    static constexpr uint32_t frame_limit = 256u << 20;       // bytes; compilers stay far below
    std::unordered_map<uint32_t, size_t> run;                 // see Decoder::earlier: base row -> op
    std::vector<Row> run_rows;                                // of one size; reused by every run
    size_t run_rows_used = 0;
    void end_run() { run.clear(), run_rows_used = 0; }
    AffineValues affine;
    std::unordered_map<size_t, Exec> affine_execs;  // see Decoder::set_affine_exec: by op

  private:
    void declare();
    void write_image();
    uint32_t grow(uint32_t align, uint64_t bytes) {
        const uint32_t offset = (size_ + align - 1) / align * align;
        if (bytes > frame_limit - offset)
            throw LoadError("function " + ptx::demangled(source.name) + " needs more than " +
                            std::to_string(frame_limit >> 20) + " MiB per warp for its registers and arguments");
        size_ = offset + static_cast<uint32_t>(bytes);
        return offset;
    }
    // optimise.cpp
    using Ops = std::vector<Op>;
    void optimise(const std::vector<uint32_t>& first_op);
    void split_affine(const std::vector<uint32_t>& first_op, const std::vector<bool>& in_fused_dot,
                      const std::unordered_map<size_t, Op>& fused_dots);
    bool is_affine(int32_t reg) const { return reg >= 0 && affine.stride[static_cast<size_t>(reg)].has_value(); }
    bool moves_to_bases(size_t instruction) const;
    Ops arrange(const std::vector<uint32_t>& first_op, const std::function<Ops(size_t)>& ops_of);
    const bool as_written_;  // it runs as it was written: optimise.cpp leaves it alone
    Hoisting hoisting_;
    RegisterAllocation allocation_;
    std::vector<Row> rows_;
    std::map<std::pair<uint64_t, int>, Row> constants_;
    std::map<std::pair<Special, int>, Row> specials_;
    bool moves_ = false;                // the instruction that is decoded: see moves_to_bases
    std::set<Special> asked_by_warps_;  // by what does not
    Row carry_;
    uint32_t size_ = 64;  // offset 0 is no row
};

}  // namespace softcuda
