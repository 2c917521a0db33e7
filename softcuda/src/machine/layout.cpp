#include "machine/layout.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "machine/builtins.h"
#include "machine/device_runtime.h"
#include "machine/memory.h"
#include "machine/operands.h"
#include "ptx/names.h"

namespace softcuda {

using ptx::Operand;
using ptx::OperandKind;

namespace {

bool floats(const ptx::Instruction& instruction) {
    for (const std::string& modifier : instruction.modifiers)
        if (modifier.starts_with("f16") || modifier.starts_with("bf16") || modifier == "f32" || modifier == "f64")
            return true;
    return false;
}

// Whether what it does in one block may depend on how far other blocks have come.
bool depends_on_order(const ptx::Instruction& instruction) {
    if (instruction.opcode == "cp") return instruction.has("reduce");
    if (instruction.opcode == "clusterlaunchcontrol") return instruction.has("try_cancel");
    const bool shared = instruction.has("shared") || instruction.has("shared::cta");
    if (shared || instruction.has("local")) return false;
    // Sums, extremes and bit operations of integers come out the same in any order; inc and dec with several bounds do not.
    const bool atom = instruction.opcode == "atom";
    if (atom || instruction.opcode == "red") {
        for (std::string_view ordered : {"inc", "dec", "exch", "cas"})
            if (instruction.has(ordered)) return true;
        const bool used = atom && !instruction.operands.empty() && instruction.operands[0].kind != OperandKind::sink;
        return used || floats(instruction);
    }
    if (instruction.opcode == "ld")
        return instruction.has("volatile") || instruction.has("relaxed") || instruction.has("acquire") ||
               instruction.has("mmio") || instruction.has("cv");
    return false;
}

void collect_names(const Operand& operand, std::set<std::string>& names) {
    if (operand.kind == OperandKind::symbol || operand.kind == OperandKind::address)
        if (!operand.name.empty()) names.insert(operand.name);
    for (const Operand& element : operand.elements) collect_names(element, names);
}

constexpr uint32_t shared_limit = 48u << 10;  // bytes of static shared memory: ptxas refuses more for every device
constexpr uint64_t stack_limit = 512u << 10;  // bytes a thread, as on hardware
constexpr size_t call_limit = 4096;           // functions that call one another in a row

uint32_t aligned(uint64_t value, uint32_t align) { return static_cast<uint32_t>((value + align - 1) / align * align); }

}  // namespace

Layout::Layout(const ptx::Module& module, Program& program) : module_(module), program_(program) {
    for (const ptx::Function& function : module.functions) {
        const ptx::Function*& known = functions_[function.name];
        if (!known || !known->has_body) known = &function;
    }
    static std::atomic<uint64_t> programs{0};
    program.function_base = 0x0300'0000'0000'0000ull + (programs.fetch_add(1) << 24);
    for (const ptx::Function& source : module.functions) {
        if (functions_.at(source.name) != &source || program.function_index.contains(source.name)) continue;
        auto function = std::make_unique<Function>();
        function->name = source.name;
        function->is_entry = source.is_entry;
        function->location = source.location;
        function->index = static_cast<uint32_t>(program.functions.size());
        program.function_index[source.name] = function->index;
        program.functions.push_back(std::move(function));
    }
    read_calls();
}

void Layout::read_calls() {
    for (const auto& [name, function] : functions_) {
        std::set<std::string>& calls = calls_[name];
        std::set<std::string>& names = names_[name];
        for (const ptx::Instruction& instruction : function->body) {
            for (const Operand& operand : instruction.operands) collect_names(operand, names);
            if (!ordered_.contains(name) && depends_on_order(instruction)) ordered_.insert(name);
            if (instruction.opcode == "alloca") growing_.insert(name);
            if (instruction.opcode != "call") continue;
            size_t at = !instruction.operands.empty() && instruction.operands[0].kind == OperandKind::list ? 1 : 0;
            if (at >= instruction.operands.size()) continue;
            const Operand& callee = instruction.operands[at];
            if (callee.kind != OperandKind::symbol) {
                indirect_.insert(name);
                continue;
            }
            auto alias = module_.aliases.find(callee.name);
            calls.insert(alias == module_.aliases.end() ? callee.name : alias->second);
            every_call_.insert(callee.name);
            if (builtin(callee.name))
                ordered_.insert(name);  // what is printed has an order; so have addresses from malloc
        }
    }
    for (const auto& [name, function] : functions_) {
        std::set<std::string>& reached = reachable_[name];
        std::vector<std::string> open{name};
        while (!open.empty()) {
            std::string next = open.back();
            open.pop_back();
            if (!reached.insert(next).second) continue;
            auto calls = calls_.find(next);
            if (calls == calls_.end()) continue;
            open.insert(open.end(), calls->second.begin(), calls->second.end());
            if (!indirect_.contains(next)) continue;
            for (const auto& [other, candidate] : functions_)
                if (candidate->has_body && !candidate->is_entry) open.push_back(other);
        }
    }
}

const ptx::Function* Layout::function(const std::string& name) const {
    auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
}

Layout::Place Layout::find(const std::string& function, const std::string& name) const {
    const std::string inside = function + "/" + name;
    if (dynamic_shared_.contains(inside) || (!shared_.contains(inside) && dynamic_shared_.contains(name)))
        return {Kind::dynamic_shared, 0};
    if (auto found = shared_.find(inside); found != shared_.end()) return {Kind::shared, found->second.offset};
    if (auto found = program_.symbols.find(inside); found != program_.symbols.end())
        return {Kind::address, found->second.address};
    if (auto found = shared_.find(name); found != shared_.end()) return {Kind::shared, found->second.offset};
    if (auto found = program_.symbols.find(name); found != program_.symbols.end())
        return {Kind::address, found->second.address};
    auto alias = module_.aliases.find(name);
    auto found = program_.function_index.find(alias == module_.aliases.end() ? name : alias->second);
    if (found != program_.function_index.end()) return {Kind::function, found->second};
    return {};
}

void Layout::place_variables(Memory& memory) {
    auto place = [&](const ptx::Variable& variable, const std::string& name) {
        if (variable.space == "shared") {
            if (variable.bytes > shared_limit)
                throw LoadError("shared variable " + ptx::demangled(variable.name) + " has " +
                                std::to_string(variable.bytes) + " bytes, at most " + std::to_string(shared_limit) +
                                " fit (PTX line " + std::to_string(variable.ptx_line) + ")");
            if (variable.bytes == 0)
                dynamic_shared_[name] = std::max(1u, variable.align);
            else
                shared_[name] = {0, static_cast<uint32_t>(variable.bytes), std::max(1u, variable.align), {}};
            return;
        }
        if (variable.space != "global" && variable.space != "const") return;
        if (variable.is_extern) return;  // defined below, or nowhere: using it is then an error
        const bool constant = variable.space == "const";
        // Whole words: atomics on bytes and halves are made of compare-and-swap on the word that holds them.
        uint64_t bytes = (std::max<uint64_t>(1, variable.bytes) + 3) & ~uint64_t(3);
        MemoryKind kind = constant              ? MemoryKind::constant
                          : variable.is_managed ? MemoryKind::managed
                                                : MemoryKind::module;
        std::string label = (constant              ? "__constant__ "
                             : variable.is_managed ? "__managed__ "
                                                   : "__device__ ") +
                            ptx::demangled(variable.name);
        uint64_t address = memory.allocate(bytes, kind, label, std::max(1u, variable.align));
        program_.allocations.push_back(address);
        std::memset(reinterpret_cast<void*>(address), 0, bytes);
        if (!variable.initial.empty())
            std::memcpy(reinterpret_cast<void*>(address), variable.initial.data(),
                        std::min<size_t>(variable.initial.size(), bytes));
        program_.symbols[name] = {address, variable.bytes, variable.space};
    };
    for (const ptx::Variable& variable : module_.variables) place(variable, variable.name);
    for (const auto& [name, function] : functions_)
        for (const ptx::Variable& variable : function->variables) place(variable, name + "/" + variable.name);
    place_shared();
}

LoadError Layout::too_much_shared(const std::string& kernel) {
    return LoadError("kernel " + ptx::demangled(kernel) + " uses more than " + std::to_string(shared_limit) +
                     " bytes of static shared memory; dynamic shared memory may be larger");
}

// Variables share an address only if no kernel reaches both: what one kernel needs is then what the hardware gives it.
void Layout::place_shared() {
    for (auto& [key, variable] : shared_) {
        size_t slash = key.find('/');
        for (const auto& [name, names] : names_) {
            bool uses = slash == std::string::npos ? names.contains(key) && !shared_.contains(name + "/" + key)
                                                   : key.compare(0, slash, name) == 0 && name.size() == slash;
            if (uses) variable.users.insert(name);
        }
    }
    std::vector<std::pair<const std::string, SharedVariable>*> placed;
    std::map<std::string, std::set<std::string>> entries;  // variable -> kernels that reach it
    for (auto& [key, variable] : shared_)
        for (const auto& [name, function] : functions_) {
            if (!function->is_entry) continue;
            for (const std::string& user : variable.users)
                if (reachable_.at(name).contains(user)) entries[key].insert(name);
        }
    const uint32_t begin = shared_begin(program_);
    for (auto& item : shared_) {
        const std::string& key = item.first;
        SharedVariable& variable = item.second;
        auto together = [&](const std::string& other) {
            const auto &a = entries[key], &b = entries[other];
            return std::any_of(a.begin(), a.end(), [&](const std::string& kernel) { return b.contains(kernel); });
        };
        uint32_t offset = aligned(begin, variable.align);
        for (bool moved = true; moved;) {
            moved = false;
            for (auto* other : placed) {
                if (offset >= other->second.offset + other->second.bytes ||
                    other->second.offset >= offset + variable.bytes)
                    continue;
                if (!together(other->first)) continue;
                offset = aligned(other->second.offset + other->second.bytes, variable.align);
                if (offset > shared_limit + begin) throw too_much_shared(*entries[key].begin());
                moved = true;
            }
        }
        variable.offset = offset;
        placed.push_back(&item);
        if (key.find('/') == std::string::npos) program_.symbols[key] = {offset, variable.bytes, "shared"};
    }
}

void Layout::write_initial_values(Memory&) const {
    auto write = [&](const ptx::Variable& variable, const std::string& function, const std::string& key) {
        auto symbol = program_.symbols.find(key);
        if (symbol == program_.symbols.end() || symbol->second.space == "shared") return;
        for (const ptx::Relocation& relocation : variable.relocations) {
            Place target = find(function, relocation.symbol);
            uint64_t value = target.value;
            if (target.kind == Kind::unknown)
                throw LoadError("initial value of " + ptx::demangled(variable.name) + " names " +
                                ptx::demangled(relocation.symbol) + ", which is defined nowhere (PTX line " +
                                std::to_string(variable.ptx_line) + ")");
            if (target.kind == Kind::function) value = program_.function_base + 16 * target.value;
            if (target.kind == Kind::shared && relocation.generic) value += shared_window;
            value += static_cast<uint64_t>(relocation.addend);
            value >>= relocation.shift;
            if (relocation.offset + static_cast<uint64_t>(relocation.bytes) > variable.bytes) continue;
            std::memcpy(reinterpret_cast<void*>(symbol->second.address + relocation.offset), &value,
                        static_cast<size_t>(relocation.bytes));
        }
    };
    for (const ptx::Variable& variable : module_.variables) write(variable, "", variable.name);
    for (const auto& [name, function] : functions_)
        for (const ptx::Variable& variable : function->variables) write(variable, name, name + "/" + variable.name);
}

// What `name` and the functions below it need.  `path` leads to it; `known` are those done.
Layout::Depth Layout::depth(const std::string& name, std::set<std::string>& path,
                            std::map<std::string, Depth>& known) const {
    auto index = program_.function_index.find(name);
    if (index == program_.function_index.end()) return {};
    if (auto found = known.find(name); found != known.end()) return found->second;
    Depth result;
    if (path.size() == call_limit)
        throw LoadError("more than " + std::to_string(call_limit) + " functions call one another in a row (" +
                        ptx::demangled(name) + ")");
    if (!path.insert(name).second) return {program_.functions[index->second]->local_bytes, true};
    result.recursive = indirect_.contains(name);
    if (auto calls = calls_.find(name); calls != calls_.end())
        for (const std::string& callee : calls->second) {
            Depth below = depth(callee, path, known);
            result.bytes = std::max(result.bytes, 16 + below.bytes);
            result.recursive = result.recursive || below.recursive;
        }
    path.erase(name);
    result.bytes += aligned(program_.functions[index->second]->local_bytes, 16);
    return known[name] = result;
}

void Layout::finish_entry(Function& entry) const {
    std::set<std::string> path;
    std::map<std::string, Depth> known;
    const Depth need = depth(entry.name, path, known);
    entry.recursive = need.recursive;
    if (need.bytes > stack_limit)
        throw LoadError("kernel " + ptx::demangled(entry.name) + " needs " + std::to_string(need.bytes) +
                        " bytes of stack, at most " + std::to_string(stack_limit) + " fit");
    entry.stack_need = static_cast<uint32_t>(need.bytes);
    const auto& reached = reachable_.at(entry.name);
    for (const std::string& name : reached) {
        entry.ordered = entry.ordered || ordered_.contains(name);
        entry.recursive = entry.recursive || growing_.contains(name);
    }
    entry.launches = std::any_of(reached.begin(), reached.end(), in_device_runtime);
    // What a child allocates its parent may come to use.
    const auto& candidates = entry.launches ? every_call_ : reached;
    entry.allocates = candidates.contains("malloc") || candidates.contains("__cudaCDP2Malloc");
    uint32_t begin = shared_begin(program_), end = begin;
    for (const auto& [key, variable] : shared_)
        for (const std::string& user : variable.users)
            if (reached.contains(user)) {
                end = std::max(end, variable.offset + variable.bytes);
                const std::string name = key.substr(key.find('/') + 1);
                entry.shared_variables[name] = {variable.offset, variable.bytes, "shared"};
            }
    entry.static_shared = end - begin;
    for (const auto& [key, align] : dynamic_shared_) {
        const size_t slash = key.find('/');
        for (const std::string& name : reached) {
            const bool own = slash != std::string::npos && key.compare(0, slash, name) == 0;
            const auto names = names_.find(name);
            const bool uses = slash == std::string::npos && names != names_.end() && names->second.contains(key);
            if (own || uses) entry.dynamic_align = std::max(entry.dynamic_align, align);
        }
    }
    if (entry.static_shared > shared_limit) throw too_much_shared(entry.name);
}

std::unique_ptr<Program> load(const ptx::Module& module, Memory& memory, bool keep_operands) {
    auto program = std::make_unique<Program>();
    if (keep_operands) program->operands = std::make_shared<std::vector<Operands>>();
    program->target = module.target;
    program->files = module.files;
    try {
        Layout layout(module, *program);
        layout.place_variables(memory);
        layout.write_initial_values(memory);
        for (auto& function : program->functions) {
            const ptx::Function& source = *layout.function(function->name);
            if (!source.has_body) continue;
            build_function(layout, module, source, *program, *function);
            uint64_t threads = 1;
            for (int i = 0; i < 3; ++i) {
                function->required_threads[i] = source.required_threads[i];
                function->required_cluster[i] = source.required_cluster[i];
                uint32_t extent = source.required_threads[i] ? source.required_threads[i] : source.max_threads[i];
                threads *= std::max(1u, extent);
            }
            bool given = source.max_threads[0] || source.required_threads[0];
            function->max_threads = given ? static_cast<uint32_t>(threads) : 0;
            function->min_blocks = source.min_blocks;
        }
        for (auto& function : program->functions)
            if (function->is_entry) layout.finish_entry(*function);
    } catch (...) {
        for (uint64_t address : program->allocations) memory.release(address);
        throw;
    }
    return program;
}

}  // namespace softcuda
