// PTX text -> load -> launch every kernel, with little time, memory and output: it ends, well or with a fault.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "machine/launch.h"
#include "ptx/ast.h"

using namespace softcuda;

namespace {

constexpr double time_limit_s = 0.1, patience_s = 10;  // of the CPU: a launch ends late by a turn of its blocks
constexpr uint64_t buffer_bytes = 4096;
constexpr uint32_t most_shared = 227 << 10;  // what the driver would let through

void launch(const Program& program, const Function& kernel, Memory& memory, uint64_t buffer, uint32_t threads) {
    MachineConfig machine;
    machine.workers = 2;
    machine.time_limit_s = time_limit_s;
    machine.device_heap_bytes = 1 << 20;
    LaunchConfig config;
    config.grid.x = 2;
    config.block.x = kernel.required_threads[0] ? std::min(kernel.required_threads[0], threads) : threads;
    config.dynamic_shared = 1024;
    config.params.resize(kernel.param_bytes);
    for (size_t i = 0; i + 8 <= config.params.size(); i += 8) std::memcpy(config.params.data() + i, &buffer, 8);
    if (kernel.static_shared > most_shared) return;
    Machine device(machine, memory);
    device.set_printer([](std::string_view) {});
    const std::clock_t begin = std::clock();
    device.launch(program, kernel, config);
    device.flush_printf();
    if (double(std::clock() - begin) / CLOCKS_PER_SEC > patience_s) {
        std::fprintf(stderr, "the launch did not end at its time limit\n");
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Memory memory(uint64_t(16) << 20);
    try {
        auto program = load(ptx::parse({reinterpret_cast<const char*>(data), size}), memory);
        uint64_t buffer = memory.allocate(buffer_bytes, MemoryKind::device, "cuMemAlloc");
        std::memset(reinterpret_cast<void*>(buffer), 0, buffer_bytes);
        int launches = 0;
        for (auto& function : program->functions)
            if (function->is_entry && !function->code.empty() && ++launches <= 4)
                launch(*program, *function, memory, buffer, size % 2 ? 33 : 64);
    } catch (const ptx::Error&) {
    } catch (const LoadError&) {
    } catch (const std::bad_alloc&) {
    }
    return 0;
}
