#include "inspect/tracer.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "inspect/json.h"

namespace softcuda::inspect {
namespace {

const char* name_of(Space space) {
    switch (space) {
        case Space::global: return "global";
        case Space::shared: return "shared";
        case Space::local: return "local";
        case Space::constant: return "const";
        case Space::param: return "param";
        case Space::generic: return "generic";
    }
    return "";
}

const char* name_of(ptx::Type type) {
    static const char* const names[] = {"none", "pred", "b8",    "b16",  "b32",    "b64", "b128",
                                        "u8",   "u16",  "u32",   "u64",  "s8",     "s16", "s32",
                                        "s64",  "f16",  "f16x2", "bf16", "bf16x2", "f32", "f64"};
    const auto index = static_cast<size_t>(type);
    return index < std::size(names) ? names[index] : "none";
}

// "add" for the kernel add in C, and for void add(…) in C++.
bool called(const std::string& symbol, const std::string& name) {
    return symbol == name || symbol.starts_with("_Z" + std::to_string(name.size()) + name);
}

// A lane's element of a row; of 16 bytes, as two numbers would be written, the text is in hexadecimal.
std::string element(const std::byte* at, int bytes) {
    uint64_t low = 0, high = 0;
    std::memcpy(&low, at, std::min<size_t>(static_cast<size_t>(bytes), 8));
    if (bytes <= 8) return std::to_string(low);
    std::memcpy(&high, at + 8, 8);
    char text[40];
    std::snprintf(text, sizeof text, "\"0x%016llx%016llx\"", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
}

}  // namespace

WantedTrace wanted_trace() {
    WantedTrace wanted;
    const char* text = std::getenv("SOFTCUDA_TRACE");
    std::istringstream words(text ? text : "");
    words >> wanted.launch >> wanted.steps >> wanted.block[0] >> wanted.block[1] >> wanted.block[2] >> wanted.kernel;
    return wanted;
}

Tracer::Tracer(const std::string& record, WantedTrace wanted) : wanted_(std::move(wanted)), out_(record) {}

void Tracer::launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) {
    const bool wanted = called(kernel.name, wanted_.kernel) && ++launches_ == wanted_.launch;
    running_.push_back(wanted);
    out_ << "{\"launch\": " << quoted(kernel.name) << ", " << shown_name(kernel)
         << ", \"grid\": " << triple(config.grid) << ", \"block\": " << triple(config.block) << "}" << end_line;
    if (!wanted) return;
    program_ = &program;
    out_ << "{\"trace\": " << quoted(kernel.name) << ", " << shown_name(kernel) << ", \"grid\": " << triple(config.grid)
         << ", \"block\": " << triple(config.block) << ", \"sources\": {";
    const char* separator = "";
    for (const auto& [file, text] : program.sources) {
        out_ << separator << quoted(file) << ": " << quoted(text);
        separator = ", ";
    }
    out_ << "}}\n";
    write_memories(kernel, config);
    out_.write_out();
}

// What addresses point into: allocations, the first that a parameter names by that parameter, and shared variables.
void Tracer::write_memories(const Function& kernel, const LaunchConfig& config) {
    for (const Allocation& allocation : *view_) {
        out_ << "{\"memory\": \"global\", \"base\": " << allocation.base << ", \"bytes\": " << allocation.bytes
             << ", \"label\": " << quoted(allocation.label);
        for (size_t i = 0; i < kernel.params.size(); ++i) {
            uint64_t address = 0;
            if (kernel.params[i].bytes != 8 || kernel.params[i].offset + 8 > config.params.size()) continue;
            std::memcpy(&address, config.params.data() + kernel.params[i].offset, 8);
            if (address < allocation.base || address >= allocation.end()) continue;
            out_ << ", \"parameter\": " << i;
            break;
        }
        out_ << "}\n";
    }
    for (const auto& [name, variable] : kernel.shared_variables)
        out_ << "{\"memory\": \"shared\", \"base\": " << variable.address << ", \"bytes\": " << variable.bytes
             << ", \"label\": " << quoted(name) << "}\n";
    out_ << "{\"memory\": \"shared\", \"base\": " << shared_begin(*program_)
         << ", \"bytes\": " << kernel.static_shared + config.dynamic_shared << ", \"label\": \"\"}\n";
}

void Tracer::launch_end(const Program&, const Function&, const LaunchConfig&, const LaunchResult& result) {
    const bool wanted = running_.back();
    running_.pop_back();
    if (!wanted) return;
    for (Step& step : steps_)
        if (step.open) close(step, result.ok);
    flush();
    out_ << "{\"traced\": " << count_ << ", \"message\": " << quoted(result.ok ? "" : result.message) << "}"
         << end_line;
    program_ = nullptr;
}

bool Tracer::here(const WarpPlace& place) const {
    return !running_.empty() && running_.back() && place.block[0] == wanted_.block[0] &&
           place.block[1] == wanted_.block[1] && place.block[2] == wanted_.block[2];
}

Tracer::Step* Tracer::current(const WarpPlace& place) {
    if (here(place))
        for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
            if (step->warp == place.warp) return step->open ? &*step : nullptr;
    return nullptr;
}

void Tracer::step(const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame) {
    if (!here(place)) return;
    // Several Ops may be one instruction.
    if (Step* step = current(place); step && step->last->line == op.line && step->last + 1 == &op) {
        step->last = &op;
        return;
    }
    close(place.warp);
    if (count_++ >= wanted_.steps) return;
    write_operation(*place.function, op);
    Step& step = steps_.emplace_back(Step{place.warp, lanes, &op, frame, {}});
    step.waits = op.flow == Flow::meet && lanes;
    step.text = "{\"step\": " + std::to_string(op.line) + ", \"warp\": " + std::to_string(place.warp);
    if (program_->operands && op.line < program_->operands->size()) {
        const Operands& operands = (*program_->operands)[op.line];
        step.waits = step.waits || (op.flow == Flow::barrier && !operands.written.empty());
        if (!operands.given.empty() && lanes) step.text += ", \"given\": " + values(operands.given, frame, lanes);
    }
}

void Tracer::memory(const WarpPlace& place, const Op&, const MemoryEvent& event) {
    Step* step = current(place);
    if (!step) return;
    step->text += ", \"" + std::string(name_of(event.space)) + "\": {\"lanes\": " + std::to_string(event.lanes) +
                  ", \"bytes\": " + std::to_string(event.bytes) + ", \"at\": [";
    const char* separator = "";
    for (uint32_t rest = event.lanes; rest; rest &= rest - 1) {
        step->text += separator + std::to_string(event.addresses[std::countr_zero(rest)]);
        separator = ", ";
    }
    step->text += "]}";
}

// Where a copy's global memory begins, and how much of it there is.
void Tracer::bulk(const WarpPlace& place, const Op&, const BulkEvent& event) {
    Step* step = current(place);
    if (!step || !event.first || event.global.empty()) return;
    uint64_t bytes = 0;
    for (const BulkEvent::Range& range : event.global) bytes += range.bytes;
    step->text += ", \"global\": {\"lanes\": " + std::to_string(1u << event.lane) +
                  ", \"bytes\": " + std::to_string(bytes) + ", \"at\": [" +
                  std::to_string(event.global.front().address) + "]}";
}

void Tracer::branch(const WarpPlace& place, const Op&, uint32_t lanes, uint32_t taken) {
    Step* step = current(place);
    if (!step) return;
    step->lanes = lanes;
    step->text += ", \"taken\": " + std::to_string(taken);
}

void Tracer::meet(const WarpPlace& place, const Op&, uint32_t, uint32_t, const std::byte*) {
    if (!here(place)) return;
    for (Step& step : steps_)
        if (step.warp == place.warp && step.last->flow == Flow::meet) step.waits = false;
}

void Tracer::barrier_done(const WarpPlace& place, uint32_t id, uint32_t threads) {
    if (!here(place)) return;
    for (Step& step : steps_)
        if (step.last && step.last->flow == Flow::barrier) step.waits = false;
    if (count_ > wanted_.steps) return;
    Step done{~0u, 0, nullptr, nullptr, {}};  // of no warp
    done.open = false;
    done.text = "{\"barrier\": " + std::to_string(id) + ", \"threads\": " + std::to_string(threads) + "}\n";
    steps_.push_back(std::move(done));
}

void Tracer::exited(const WarpPlace& place, uint32_t) {
    if (here(place)) close(place.warp);
}

void Tracer::block_end(const WarpPlace& place) {
    if (!here(place)) return;
    for (Step& step : steps_)
        if (step.open) close(step, true);
    flush();
}

void Tracer::process_end() { out_ << "{\"end\": true}" << end_line; }

// The warp goes on, so what its earlier steps have written is in its rows.
void Tracer::close(uint32_t warp) {
    for (Step& step : steps_)
        if (step.open && step.warp == warp && !step.waits) close(step, true);
    flush();
}

void Tracer::close(Step& step, bool ran) {
    step.text += ", \"lanes\": " + std::to_string(step.lanes);
    const uint32_t line = step.last->line;
    if (ran && step.lanes && program_->operands && line < program_->operands->size())
        if (const auto& written = (*program_->operands)[line].written; !written.empty())
            step.text += ", \"written\": " + values(written, step.frame, step.lanes);
    step.text += "}\n";
    step.open = false;
}

void Tracer::flush() {
    for (; !steps_.empty() && !steps_.front().open; steps_.pop_front()) out_ << steps_.front().text;
    if (count_ % 256 == 0 || count_ == wanted_.steps)
        out_.write_out();  // so that a run that is killed leaves most of it
}

// Row by row; of a predicate its lanes, as a mask.
std::string Tracer::values(const std::vector<Value>& values, const std::byte* frame, uint32_t lanes) const {
    std::string text = "[";
    for (const Value& value : values) {
        if (text.size() > 1) text += ", ";
        const std::byte* row = frame + value.row.offset;
        if (value.register_index < 0) {
            text += std::to_string(value.bits);
        } else if (value.row.element_bytes == 0) {
            uint32_t mask;
            std::memcpy(&mask, row, sizeof mask);
            text += std::to_string(mask & lanes);
        } else {
            const char* separator = "[";
            for (uint32_t rest = lanes; rest; rest &= rest - 1) {
                text += separator +
                        element(row + std::countr_zero(rest) * value.row.element_bytes, value.row.element_bytes);
                separator = ", ";
            }
            text += "]";
        }
    }
    return text + "]";
}

void Tracer::write_operation(const Function& function, const Op& op) {
    if (!written_.insert(op.line).second) return;
    const SourceLine& line = program_->locations[op.line];
    out_ << "{\"operation\": " << op.line << ", \"text\": " << quoted(line.text)
         << ", \"file\": " << quoted(program_->files[line.file]) << ", \"line\": " << line.line
         << ", \"function\": " << quoted(function.name);
    if (program_->operands && op.line < program_->operands->size()) {
        const Operands& operands = (*program_->operands)[op.line];
        for (const auto& [name, values] :
             {std::pair("written", &operands.written), std::pair("given", &operands.given)}) {
            out_ << ", \"" << name << "\": [";
            const char* separator = "";
            for (const Value& value : *values) {
                out_ << separator << "[" << quoted(value.name) << ", " << quoted(name_of(value.type)) << "]";
                separator = ", ";
            }
            out_ << "]";
        }
    }
    out_ << "}\n";
}

}  // namespace softcuda::inspect
