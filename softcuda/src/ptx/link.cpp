#include "link.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "names.h"

namespace softcuda::ptx {
namespace {

constexpr std::string_view module_mark = "// softcuda: module ";
constexpr std::string_view member_mark = "// softcuda: member ";
constexpr std::string_view runtime_mark = "// softcuda: library cudadevrt";

using Provided = std::function<bool(const std::string&)>;

// One input, parsed, and what it means to the others.
struct Part {
    std::string name;
    Module module;
    bool member = false;
};

bool is_dynamic_shared(const Variable& variable) { return variable.space == "shared" && variable.bytes == 0; }
bool is_declaration(const Variable& variable) { return variable.is_extern && !is_dynamic_shared(variable); }
bool is_local(const Variable& variable) {
    return !variable.is_extern && !variable.is_visible && !variable.is_weak && !variable.is_common &&
           !is_dynamic_shared(variable);
}
bool is_local(const Function& function) {
    return function.has_body && !function.is_visible && !function.is_weak && !function.is_extern;
}

// Names that mean something of the function itself, whatever the module calls by that name.
std::set<std::string> own_names(const Function& function) {
    std::set<std::string> names;
    for (const auto* variables : {&function.returns, &function.params, &function.variables})
        for (const Variable& variable : *variables) names.insert(variable.name);
    for (const auto& [name, _] : function.labels) names.insert(name);
    for (const auto& [name, _] : function.branch_targets) names.insert(name);
    for (const auto& [name, _] : function.call_targets) names.insert(name);
    for (const auto& [name, _] : function.prototypes) names.insert(name);
    return names;
}

template <class Operands, class Visit>
void each_name(Operands& operands, Visit&& visit) {
    for (auto& operand : operands) {
        if ((operand.kind == OperandKind::symbol || operand.kind == OperandKind::address) && !operand.name.empty())
            visit(operand.name);
        each_name(operand.elements, visit);
    }
}

// Every name of the module's own scope that something in it uses; a Module that may change can be renamed so.
template <class AnyModule, class Visit>
void each_use(AnyModule& module, Visit&& visit) {
    for (auto& variable : module.variables)
        for (auto& relocation : variable.relocations) visit(relocation.symbol);
    for (auto& [_, function] : module.aliases) visit(function);
    for (auto& function : module.functions) {
        if (!function.has_body) continue;
        const std::set<std::string> own = own_names(function);
        for (auto& instruction : function.body)
            each_name(instruction.operands, [&](auto& name) {
                if (!own.contains(name)) visit(name);
            });
        for (auto& [_, targets] : function.call_targets)
            for (auto& name : targets) visit(name);
        for (auto& variable : function.variables)
            for (auto& relocation : variable.relocations)
                if (!own.contains(relocation.symbol)) visit(relocation.symbol);
    }
}

std::set<std::string> definitions(const Module& module) {  // that others may use
    std::set<std::string> names;
    for (const Variable& variable : module.variables)
        if (!is_declaration(variable) && !is_local(variable)) names.insert(variable.name);
    for (const Function& function : module.functions)
        if (function.has_body && !is_local(function)) names.insert(function.name);
    for (const auto& [alias, _] : module.aliases) names.insert(alias);
    return names;
}

std::set<std::string> needs(const Module& module) {  // what it only declares, and uses
    std::set<std::string> declared, used;
    for (const Variable& variable : module.variables)
        if (is_declaration(variable)) declared.insert(variable.name);
    for (const Function& function : module.functions)
        if (!function.has_body && !module.aliases.contains(function.name)) declared.insert(function.name);
    if (declared.empty()) return used;
    each_use(module, [&](const std::string& name) {
        if (declared.contains(name)) used.insert(name);
    });
    return used;
}

// Members of libraries stay only if somebody who stays needs what they define.
void drop_unused_members(std::vector<Part>& parts) {
    std::set<std::string> defined, needed;
    std::vector<bool> kept(parts.size());
    auto keep = [&](size_t i) {
        kept[i] = true;
        defined.merge(definitions(parts[i].module));
        needed.merge(needs(parts[i].module));
    };
    for (size_t i = 0; i < parts.size(); ++i)
        if (!parts[i].member) keep(i);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < parts.size(); ++i) {
            if (kept[i]) continue;
            const std::set<std::string> offers = definitions(parts[i].module);
            if (std::none_of(offers.begin(), offers.end(),
                             [&](const std::string& name) { return needed.contains(name) && !defined.contains(name); }))
                continue;
            keep(i);
            more = true;
        }
    }
    std::vector<Part> left;
    for (size_t i = 0; i < parts.size(); ++i)
        if (kept[i]) left.push_back(std::move(parts[i]));
    parts = std::move(left);
}

// File-local symbols keep their names where nobody else uses them; '@' is in no PTX name.
void rename_locals(std::vector<Part>& parts) {
    std::map<std::string, int> users;
    std::vector<std::set<std::string>> locals(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        const Module& module = parts[i].module;
        for (const Variable& variable : module.variables) {
            ++users[variable.name];
            if (is_local(variable)) locals[i].insert(variable.name);
        }
        for (const Function& function : module.functions) {
            ++users[function.name];
            if (is_local(function)) locals[i].insert(function.name);
        }
        for (const auto& [alias, _] : module.aliases) ++users[alias];
    }
    for (size_t i = 0; i < parts.size(); ++i) {
        auto rename = [&](std::string& name) {
            if (locals[i].contains(name) && users.at(name) > 1) name += "@" + std::to_string(i + 1);
        };
        Module& module = parts[i].module;
        each_use(module, rename);
        for (Variable& variable : module.variables) rename(variable.name);
        for (Function& function : module.functions) rename(function.name);
    }
}

void shift_files(Module& module, uint32_t by) {
    auto shift = [&](Location& location) {
        if (location.file) location.file += by;
    };
    for (Function& function : module.functions) {
        shift(function.location);
        for (Instruction& instruction : function.body) {
            shift(instruction.location);
            shift(instruction.inner_location);
        }
    }
}

int target_of(const std::string& target) {
    size_t digits = target.find_first_of("0123456789");
    return digits == target.npos ? 0 : std::atoi(target.c_str() + digits);
}

bool same_shape(const std::vector<Variable>& a, const std::vector<Variable>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Variable& x, const Variable& y) { return x.bytes == y.bytes; });
}

class Joiner {
  public:
    Module join(std::vector<Part>& parts) {
        for (Part& part : parts) {
            part_ = &part.name;
            Module& module = part.module;
            if (std::pair(module.version_major, module.version_minor) >
                std::pair(out_.version_major, out_.version_minor))
                std::tie(out_.version_major, out_.version_minor) = std::tie(module.version_major, module.version_minor);
            if (out_.target.empty() || target_of(module.target) > target_of(out_.target)) out_.target = module.target;
            out_.address_size = module.address_size;
            shift_files(module, static_cast<uint32_t>(out_.files.size() - 1));
            out_.files.insert(out_.files.end(), module.files.begin() + 1, module.files.end());
            for (Variable& variable : module.variables) add(std::move(variable));
            for (Function& function : module.functions) add(std::move(function));
            out_.aliases.merge(module.aliases);
            std::move(module.notes.begin(), module.notes.end(), std::back_inserter(out_.notes));
        }
        check_declarations();
        return std::move(out_);
    }
    std::string errors;

  private:
    struct Place {
        bool function;
        size_t index;
        std::string part;
    };

    void complain(const std::string& what) { errors += (errors.empty() ? "" : "\n") + ("error   : " + what); }
    void defined_twice(const std::string& name, const Place& first) {
        complain("Multiple definition of '" + demangled(name) + "' in '" + *part_ + "', first defined in '" +
                 first.part + "'");
    }

    void add(Variable variable) {
        auto [it, is_new] = places_.try_emplace(variable.name, Place{false, out_.variables.size(), *part_});
        Place& place = it->second;
        if (is_new) {
            out_.variables.push_back(std::move(variable));
            return;
        }
        if (place.function) return defined_twice(variable.name, place);
        Variable& known = out_.variables[place.index];
        // A definition replaces declarations, a strong one weak and common ones, a larger common one a smaller.
        if (is_declaration(variable)) {
            declarations_.push_back({*part_, std::move(variable)});
        } else if (is_declaration(known)) {
            declarations_.push_back({place.part, known});
            replace(place, known, std::move(variable));
        } else if (is_dynamic_shared(known) && is_dynamic_shared(variable)) {
            known.align = std::max(known.align, variable.align);
        } else if (known.is_common && variable.is_common) {
            if (variable.bytes > known.bytes) replace(place, known, std::move(variable));
        } else if (variable.is_weak || variable.is_common) {
            return;
        } else if (known.is_weak || known.is_common) {
            replace(place, known, std::move(variable));
        } else {
            defined_twice(variable.name, place);
        }
    }

    void replace(Place& place, Variable& known, Variable variable) {
        known = std::move(variable);
        place.part = *part_;
    }

    void add(Function function) {
        auto [it, is_new] = places_.try_emplace(function.name, Place{true, out_.functions.size(), *part_});
        Place& place = it->second;
        if (is_new) {
            out_.functions.push_back(std::move(function));
            return;
        }
        if (!place.function) return defined_twice(function.name, place);
        Function& known = out_.functions[place.index];
        if (!same_shape(known.params, function.params) || !same_shape(known.returns, function.returns))
            return complain("Prototype doesn't match for '" + function.name + "' in '" + *part_ +
                            "', first specified in '" + place.part + "'");
        if (!function.has_body) return;
        if (known.has_body && !known.is_weak) {
            if (!function.is_weak) defined_twice(function.name, place);
            return;
        }
        if (known.has_body && function.is_weak) return;
        known = std::move(function);
        place.part = *part_;
    }

    void check_declarations() {
        for (const auto& [part, declared] : declarations_) {
            const Place& place = places_.at(declared.name);
            const Variable& found = out_.variables[place.index];
            if (is_declaration(found)) continue;
            if (declared.space != found.space || (declared.bytes && declared.bytes != found.bytes))
                complain("Size doesn't match for '" + declared.name + "' in '" + part + "' (." + declared.space + ", " +
                         std::to_string(declared.bytes) + " bytes), first specified in '" + place.part + "' (." +
                         found.space + ", " + std::to_string(found.bytes) + " bytes)");
        }
    }

    Module out_;
    const std::string* part_ = nullptr;
    std::unordered_map<std::string, Place> places_;
    std::vector<std::pair<std::string, Variable>> declarations_;  // and the input that made them
};

// "'f' in 'kernel.ptx'" for what no part defines.
void check_undefined(const std::vector<Part>& parts, const Provided& provided, std::string& errors) {
    std::set<std::string> defined;
    for (const Part& part : parts) defined.merge(definitions(part.module));
    for (const Part& part : parts)
        for (const std::string& name : needs(part.module))
            if (!defined.contains(name) && !provided(name))
                errors += (errors.empty() ? "" : "\n") +
                          ("error   : Undefined reference to '" + demangled(name) + "' in '" + part.name + "'");
}

}  // namespace

Image split_image(std::string_view text, const std::string& name) {
    Image image;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const bool member = line.starts_with(member_mark);
        if (line == runtime_mark) {
            image.device_runtime = image.linked = true;
        } else if (member || line.starts_with(module_mark)) {
            image.linked = true;
            image.inputs.push_back({std::string(line.substr(module_mark.size())), "", member});
        } else {
            if (image.inputs.empty()) image.inputs.push_back({name, "", false});
            image.inputs.back().text.append(text.substr(at, end - at)).push_back('\n');
        }
        at = end + 1;
    }
    if (image.linked) {  // what stands before the first mark
        auto blank = [](const LinkInput& input) {
            return input.text.find_first_not_of(" \t\r\n") == std::string::npos;
        };
        std::erase_if(image.inputs, blank);
    }
    return image;
}

std::string join_image(const Image& image) {
    std::string text;
    if (image.device_runtime) text.append(runtime_mark).push_back('\n');
    for (const LinkInput& input : image.inputs) {
        text.append(input.member ? member_mark : module_mark).append(input.name).push_back('\n');
        text.append(input.text);
        if (!text.ends_with('\n')) text.push_back('\n');
    }
    return text;
}

Module link(const std::vector<LinkInput>& inputs, const Provided& provided) {
    std::vector<Part> parts;
    for (const LinkInput& input : inputs) {
        try {
            parts.push_back({input.name, parse(input.text), input.member});
        } catch (const Error& error) {
            throw LinkError(input.name + ": PTX " + error.what());
        }
    }
    drop_unused_members(parts);
    rename_locals(parts);
    std::string errors;
    check_undefined(parts, provided, errors);
    Joiner joiner;
    Module module = joiner.join(parts);
    if (!joiner.errors.empty()) errors += (errors.empty() ? "" : "\n") + joiner.errors;
    if (!errors.empty()) throw LinkError(errors);
    return module;
}

std::vector<std::string> undefined(const Module& module, const Provided& provided) {
    std::vector<std::string> found;
    const std::set<std::string> missing = needs(module);
    for (const Variable& variable : module.variables)
        if (missing.contains(variable.name) && variable.space != "shared")  // ptxas makes those its own
            found.push_back("variable '" + demangled(variable.name) + "'");
    for (const Function& function : module.functions)
        if (missing.contains(function.name) && !provided(function.name))
            found.push_back("function '" + demangled(function.name) + "'");
    return found;
}

}  // namespace softcuda::ptx
