// The names of one function body: nested `{ }` scopes shadow each other in the text, and are distinguished here.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ast.h"

namespace softcuda::ptx {

enum class NameKind : uint8_t { reg, reg_vector, variable };

struct Name {
    NameKind kind;
    uint32_t depth;               // of the scope that declared it
    int32_t index = no_register;  // of the register, or of the first of a vector of registers
    uint8_t width = 1;            // registers in a vector
    std::string_view unique;      // a variable's name after renaming
};

// A use of a name that may be declared later: a label, a function, a module variable.
struct PendingName {
    std::string_view name;
    uint32_t line;
    int64_t instruction;  // index into the body, or -1: `place` is to be renamed
    std::string* place = nullptr;
};

class Scopes {
  public:
    void begin_function();
    void open(uint32_t line);

    // Close the innermost scope: give its labels to the uses within; what stays open waits for the outer scope.
    // The outermost scope's leftovers are returned (empty for others).
    std::vector<PendingName> close(std::vector<Instruction>& body);

    uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }
    uint32_t opening_line() const { return scopes_.back().line; }

    const Name* find(std::string_view name) const;
    bool declare(std::string_view name, Name entry);                 // false: already in this scope
    bool declare_label(std::string_view name, std::string& unique);  // also of .branchtargets and .callprototype tables
    void use_later(PendingName use) { scopes_.back().pending.push_back(use); }

    std::string_view keep(std::string text);    // a view that lives as long as the function
    std::string unique(std::string_view name);  // "x", then "x#2", "x#3": '#' is in no PTX name
    void reserve(std::string_view name) { taken_.emplace(name, 1); }

  private:
    struct Scope {
        uint32_t line;
        std::vector<std::pair<std::string_view, std::optional<Name>>> shadowed;  // to restore at the end
        std::unordered_map<std::string_view, std::string> labels;
        std::vector<PendingName> pending;
    };
    std::vector<Scope> scopes_;
    std::unordered_map<std::string_view, Name> names_;
    std::unordered_map<std::string, uint32_t> taken_;
    std::deque<std::string> kept_;
};

}  // namespace softcuda::ptx
