// Where a module's variables and functions are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/program.h"

namespace softcuda {

class Memory;

class Layout {
  public:
    enum class Kind : uint8_t { unknown, address, shared, dynamic_shared, function };
    struct Place {
        Kind kind = Kind::unknown;
        uint64_t value = 0;  // device address, offset in shared memory, or index of the function
    };

    Layout(const ptx::Module& module, Program& program);
    // Allocates global and constant variables (Program::symbols, Program::allocations) and places shared ones.
    void place_variables(Memory& memory);
    void write_initial_values(Memory& memory) const;

    Place find(const std::string& function, const std::string& name) const;
    const ptx::Function* function(const std::string& name) const;  // the definition, else a declaration, else null
    // Functions that `name` may come to execute, itself included; a call through a pointer reaches every device function.
    const std::set<std::string>& reachable(const std::string& name) const { return reachable_.at(name); }
    // Fills what depends on the calls an entry makes: static_shared, stack_need, recursive, ordered.
    void finish_entry(Function& entry) const;

  private:
    struct SharedVariable {
        uint32_t offset = 0, bytes = 0, align = 1;
        std::set<std::string> users;  // functions that name it
    };
    void read_calls();
    void place_shared();
    static LoadError too_much_shared(const std::string& kernel);
    struct Depth {
        uint64_t bytes = 0;      // of stack
        bool recursive = false;  // calls itself, somebody who does, or through a pointer: more than `bytes`
    };
    Depth depth(const std::string& name, std::set<std::string>& path, std::map<std::string, Depth>& known) const;

    const ptx::Module& module_;
    Program& program_;
    std::unordered_map<std::string, const ptx::Function*> functions_;
    std::map<std::string, std::set<std::string>> calls_, names_;  // function -> functions called; symbols named
    std::set<std::string> every_call_;                            // all names that are called
    // Functions that call through pointers; whose results depend on order; that allocate on their stack.
    std::set<std::string> indirect_, ordered_, growing_;
    std::map<std::string, std::set<std::string>> reachable_;
    std::map<std::string, SharedVariable> shared_;    // "name", or "function/name" inside a function
    std::map<std::string, uint32_t> dynamic_shared_;  // and their alignment
};

void build_function(const Layout& layout, const ptx::Module& module, const ptx::Function& source, Program& program,
                    Function& function);
int target_number(const Program& program);                                // 90
std::string place_text(const Program& program, const ptx::Location& at);  // "x.cu:12: " or ""

}  // namespace softcuda
