// What instructions do to registers, value by value, for observers that show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/program.h"
#include "ptx/ast.h"

namespace softcuda {

// A register's or immediate's, as its instruction reads or writes it.
struct Value {
    std::string name;  // "%f12"; of an immediate, empty
    // What the bits mean.  Where an instruction does not say (mov.b32, shfl), what the register's other uses say; b32 and the
    // like where none does.
    ptx::Type type = ptx::Type::none;
    int32_t register_index = ptx::no_register;  // in ptx::Function::registers
    Row row;                                    // of a register
    uint64_t bits = 0;                          // of an immediate
};

struct Operands {
    std::vector<Value> written;  // registers that hold the results afterwards; not of calls
    std::vector<Value> given;    // what st, red and atom bring to memory
};

// Of each instruction in the body; rows are left to who lays them out.
std::vector<Operands> operands_of(const ptx::Function& function);

}  // namespace softcuda
