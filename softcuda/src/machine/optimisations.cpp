#include "machine/optimisations.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace softcuda {

bool parse_optimisations(std::string_view text, Optimisations& chosen) {
    constexpr std::pair<std::string_view, bool Optimisations::*> names[] = {
        {"registers", &Optimisations::registers}, {"hoisting", &Optimisations::hoisting},
        {"plans", &Optimisations::plans},         {"dots", &Optimisations::dots},
        {"affine", &Optimisations::affine},       {"lockstep", &Optimisations::lockstep},
    };
    for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
        end = std::min(text.find(',', begin), text.size());
        std::string_view word = text.substr(begin, end - begin);
        const bool off = word.starts_with("no-") || word == "none", every = word == "all" || word == "none";
        if (word.starts_with("no-")) word.remove_prefix(3);
        bool known = every;
        for (const auto& [name, member] : names)
            if (every || word == name) chosen.*member = !off, known = true;
        if (!known) return false;
    }
    return true;
}

const Optimisations& optimisations() {
    static const Optimisations chosen = [] {
        Optimisations chosen;
        const char* text = std::getenv("SOFTCUDA_OPTIMISE");
        return text && *text && !parse_optimisations(text, chosen) ? Optimisations() : chosen;
    }();
    return chosen;
}

}  // namespace softcuda
