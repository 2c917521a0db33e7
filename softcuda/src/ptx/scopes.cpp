#include "scopes.h"

namespace softcuda::ptx {
namespace {

void rename(std::vector<Operand>& operands, std::string_view from, const std::string& to) {
    for (Operand& operand : operands) {
        const bool named = operand.kind == OperandKind::symbol || operand.kind == OperandKind::address;
        if (named && operand.name == from) operand.name = to;
        rename(operand.elements, from, to);
    }
}

}  // namespace

void Scopes::begin_function() {
    scopes_.clear();
    names_.clear();
    taken_.clear();
    kept_.clear();
}

void Scopes::open(uint32_t line) { scopes_.push_back({line, {}, {}, {}}); }

std::vector<PendingName> Scopes::close(std::vector<Instruction>& body) {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    for (auto entry = scope.shadowed.rbegin(); entry != scope.shadowed.rend(); ++entry) {
        if (entry->second) {
            names_[entry->first] = *entry->second;
        } else {
            names_.erase(entry->first);
        }
    }
    std::vector<PendingName> open;
    for (const PendingName& use : scope.pending) {
        auto label = scope.labels.find(use.name);
        if (label == scope.labels.end()) {
            open.push_back(use);
        } else if (label->second != use.name) {
            if (use.instruction >= 0) {
                rename(body[static_cast<size_t>(use.instruction)].operands, use.name, label->second);
            } else {
                *use.place = label->second;
            }
        }
    }
    if (scopes_.empty()) return open;
    std::vector<PendingName>& outer = scopes_.back().pending;
    outer.insert(outer.end(), open.begin(), open.end());
    return {};
}

const Name* Scopes::find(std::string_view name) const {
    auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
}

bool Scopes::declare(std::string_view name, Name entry) {
    entry.depth = depth();
    auto [place, is_new] = names_.try_emplace(name, entry);
    if (is_new) {
        if (depth() > 1) scopes_.back().shadowed.emplace_back(name, std::nullopt);
        return true;
    }
    if (place->second.depth == entry.depth) return false;
    scopes_.back().shadowed.emplace_back(place->first, place->second);
    place->second = entry;
    return true;
}

bool Scopes::declare_label(std::string_view name, std::string& label) {
    auto [place, is_new] = scopes_.back().labels.try_emplace(name);
    if (!is_new) return false;
    place->second = label = unique(name);
    return true;
}

std::string_view Scopes::keep(std::string text) { return kept_.emplace_back(std::move(text)); }

std::string Scopes::unique(std::string_view name) {
    std::string base(name);
    uint32_t& count = taken_[base];
    if (++count == 1) return base;
    return base + "#" + std::to_string(count);
}

}  // namespace softcuda::ptx
