// The table of operations, with those of the best SIMD level that this CPU has.
#include <algorithm>
#include <cstdlib>

#include "machine/decode.h"

namespace softcuda {

void OperationTable::add(std::string_view opcode, DecodeFn decode, OpcodeFacts facts) {
    table_[std::string(opcode)] = {decode, facts};
}

DecodeFn OperationTable::find(std::string_view opcode) const {
    auto found = table_.find(std::string(opcode));
    return found == table_.end() ? nullptr : found->second.decode;
}

OpcodeFacts OperationTable::facts(std::string_view opcode) const {
    auto found = table_.find(std::string(opcode));
    return found == table_.end() ? OpcodeFacts() : found->second.facts;
}

namespace {

enum class Level { generic, avx2, avx512 };

Level best_level() {
    Level best = Level::generic;
#if defined(SOFTCUDA_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        best = Level::avx2;
#endif
#if defined(SOFTCUDA_HAVE_AVX512)
    if (best == Level::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        best = Level::avx512;
#endif
    return best;
}

Level choose_level() {
    const char* asked = std::getenv("SOFTCUDA_SIMD");  // the driver has refused what is not one of simd_levels()
    const Level best = best_level();
    if (asked && std::string_view(asked) == "generic") return Level::generic;
    if (asked && std::string_view(asked) == "avx2") return std::min(best, Level::avx2);
    return best;
}

Level level() {
    static const Level chosen = choose_level();
    return chosen;
}

#define SOFTCUDA_REGISTER(level)    \
    level::register_integer(table); \
    level::register_float(table);   \
    level::register_half(table);    \
    level::register_compare(table); \
    level::register_convert(table); \
    level::register_memory(table);  \
    level::register_atomic(table);  \
    level::register_warp(table);    \
    level::register_matrix(table);

}  // namespace

std::vector<std::string_view> simd_levels() {
    std::vector<std::string_view> names{"generic", "avx2", "avx512"};
    names.resize(static_cast<size_t>(best_level()) + 1);
    return names;
}

const OperationTable& operation_table() {
    static const OperationTable table = [] {
        OperationTable table;
        register_control(table);
        switch (level()) {
#if defined(SOFTCUDA_HAVE_AVX512)
            case Level::avx512: SOFTCUDA_REGISTER(avx512) break;
#endif
#if defined(SOFTCUDA_HAVE_AVX2)
            case Level::avx2: SOFTCUDA_REGISTER(avx2) break;
#endif
            default: SOFTCUDA_REGISTER(generic)
        }
        return table;
    }();
    return table;
}

const char* simd_level() {
    switch (level()) {
        case Level::avx512: return "avx512";
        case Level::avx2: return "avx2";
        default: return "generic";
    }
}

}  // namespace softcuda
