// How the checker reports what it has found.
#include "inspect/checker.h"

#include <algorithm>

#include "inspect/json.h"

namespace softcuda::inspect {

bool Checker::first_time(const char* kind, uint32_t line, uint32_t other) {
    const uint64_t low = std::min(line, other), high = std::max(line, other);
    return launch().reported.insert((high << 32 | low) * 31 + static_cast<uint8_t>(kind[0])).second;
}

std::string Checker::describe_access(const Who& who) {
    const Launch& own = launch();
    const SourceLine& line = own.program->locations[who.line];
    const Dim3& shape = own.config->block;
    const auto& block = own.blocks[who.block];
    const Dim3 thread{who.thread % shape.x, who.thread / shape.x % shape.y, who.thread / (shape.x * shape.y)};
    return "{\"does\": " + quoted(who.access) + ", \"file\": " + quoted(own.program->files[line.file]) +
           ", \"line\": " + std::to_string(line.line) + ", \"ptx_line\": " + std::to_string(line.ptx_line) +
           ", \"instruction\": " + quoted(line.text) + ", \"block\": " + triple({block[0], block[1], block[2]}) +
           ", \"thread\": " + triple(thread) + "}";
}

std::pair<std::string, std::string> Checker::describe_finding(const char* kind, const char* what, const char* space,
                                                              const Touch* at, uint64_t address, const Who& first,
                                                              const Who* second) {
    const Launch& own = launch();
    const auto place = [&](const Who& who) {
        const SourceLine& line = own.program->locations[who.line];
        return own.program->files[line.file] + ":" + std::to_string(line.line);
    };
    std::string a = place(first), b = second ? place(*second) : "";
    if (b < a) std::swap(a, b);
    std::string text = "{\"program\": " + std::to_string(own.program->function_base) + ", \"kind\": " + quoted(kind) +
                       ", \"what\": " + quoted(what) + ", \"kernel\": " + quoted(own.kernel->name) + ", " +
                       shown_name(*own.kernel) + ", \"grid\": " + triple(own.config->grid) +
                       ", \"block\": " + triple(own.config->block);
    if (*space) text += ", \"space\": " + quoted(space);
    if (at) {
        text += ", \"address\": " + std::to_string(address) + ", \"bytes\": " + std::to_string(at->event.bytes);
        text += at->known ? allocation_text(at->known->allocation, address) : variable_at(address);
    } else if (address) {
        text += ", \"value\": " + std::to_string(address);
    }
    text += ", \"first\": " + describe_access(first);
    if (second) text += ", \"second\": " + describe_access(*second);
    return {own.kernel->name + "\n" + kind + "\n" + space + "\n" + a + "\n" + b, text + "}"};
}

// The variable in shared memory, if it is not what is allocated at the launch.
std::string Checker::variable_at(uint64_t address) {
    const std::pair<const std::string, Symbol>* best = nullptr;
    for (const auto& symbol : launch().kernel->shared_variables) {
        if (symbol.second.address > address) continue;
        if (symbol.second.bytes && address >= symbol.second.address + symbol.second.bytes) continue;
        if (!best || symbol.second.address >= best->second.address) best = &symbol;
    }
    const uint64_t base = best ? best->second.address : shared_begin(*launch().program);
    return (best ? ", \"variable\": " + quoted(best->first) : "") + ", \"offset\": " + std::to_string(address - base);
}

void Checker::report(const char* kind, const char* what, const char* space, const Touch* at, uint64_t address,
                     const Who& first, const Who* second) {
    const auto [key, text] = describe_finding(kind, what, space, at, address, first, second);
    if (findings_.insert(key).second) out_ << text << end_line;
}

void Checker::report_rest(Block& block) {
    for (const Unreported& one : block.unreported)
        if (!launch().raced.contains(one.line) && findings_.insert(one.key).second) out_ << one.text << end_line;
    block.unreported.clear();
}

std::string Checker::allocation_text(const Allocation& allocation, uint64_t address) {
    return ", \"allocation\": {\"number\": " + std::to_string(allocation.serial) +
           ", \"bytes\": " + std::to_string(allocation.bytes) + ", \"from\": " + quoted(allocation.label) +
           ", \"offset\": " + std::to_string(address - allocation.base) + "}";
}

}  // namespace softcuda::inspect
