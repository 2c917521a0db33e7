// Runs one kernel of a PTX file on the machine, without the driver: what the machine's tests call.
//
//   ptx_run FILE.ptx KERNEL --grid x,y,z --block x,y,z [--shared bytes] [--cooperative] [--cluster x,y,z] ARGUMENT...
//
// An argument is  i32:5  u32:5  i64:5  f32:1.5  f64:1.5 , or memory that is printed afterwards:
//   buf:i32:N[:iota|zero|VALUE]  (also u32, f32, f64, i64, u64).
// Prints `name: value value …` for each buffer, then the fault, if any, as `fault: kind-number: message`.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "machine/decode.h"
#include "machine/launch.h"
#include "ptx/ast.h"

using namespace softcuda;

namespace {

struct Buffer {
    std::string type;
    uint64_t address, count;
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
    return parts;
}

Dim3 dimensions(const std::string& text) {
    auto parts = split(text, ',');
    Dim3 d;
    uint32_t* out[3] = {&d.x, &d.y, &d.z};
    for (size_t i = 0; i < parts.size() && i < 3; ++i) *out[i] = static_cast<uint32_t>(std::stoul(parts[i]));
    return d;
}

size_t width(const std::string& type) {
    return type.ends_with("64") ? 8 : type.ends_with("16") ? 2 : type.ends_with("8") ? 1 : 4;
}

void put(void* at, const std::string& type, const std::string& value) {
    if (type == "f32") {
        float x = std::stof(value);
        std::memcpy(at, &x, 4);
    } else if (type == "f64") {
        double x = std::stod(value);
        std::memcpy(at, &x, 8);
    } else {
        long long x = static_cast<long long>(std::stoll(value, nullptr, 0));
        std::memcpy(at, &x, width(type));
    }
}

void show(const void* at, const std::string& type) {
    auto as = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof value);
        std::cout << ' ' << +value;
    };
    if (type == "f32")
        as(float{});
    else if (type == "f64")
        as(double{});
    else if (type == "i64")
        as(int64_t{});
    else if (type == "u64")
        as(uint64_t{});
    else if (type == "i32")
        as(int32_t{});
    else if (type == "u8")
        as(uint8_t{});
    else
        as(uint32_t{});
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) return std::fprintf(stderr, "usage: ptx_run FILE.ptx KERNEL …\n"), 2;
    std::ifstream file(argv[1]);
    std::stringstream text;
    text << file.rdbuf();
    Memory memory(uint64_t(4) << 30);
    auto program = load(ptx::parse(text.str()), memory);
    const Function* kernel = program->find(argv[2]);
    if (!kernel || !kernel->is_entry) return std::fprintf(stderr, "no kernel %s\n", argv[2]), 2;
    LaunchConfig config;
    MachineConfig machine;
    std::vector<Buffer> buffers;
    int repeats = 1;
    bool quiet = false;
    size_t parameter = 0;
    config.params.resize(kernel->param_bytes);
    for (int i = 3; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "--grid")
            config.grid = dimensions(argv[++i]);
        else if (argument == "--block")
            config.block = dimensions(argv[++i]);
        else if (argument == "--shared")
            config.dynamic_shared = static_cast<uint32_t>(std::atoi(argv[++i]));
        else if (argument == "--cooperative")
            config.cooperative = true;
        else if (argument == "--cluster")
            config.cluster = dimensions(argv[++i]);
        else if (argument == "--repeat")
            repeats = std::atoi(argv[++i]);
        else if (argument == "--workers")
            machine.workers = std::atoi(argv[++i]);
        else if (argument == "--quiet")
            quiet = true;
        else {
            if (parameter >= kernel->params.size()) return std::fprintf(stderr, "too many arguments\n"), 2;
            auto parts = split(argument, ':');
            std::byte* at = config.params.data() + kernel->params[parameter++].offset;
            if (parts[0] != "buf") {
                put(at, parts[0], parts[1]);
                continue;
            }
            uint64_t count = std::stoull(parts[2]), bytes = count * width(parts[1]);
            uint64_t address = memory.allocate(bytes, MemoryKind::device, "cuMemAlloc");
            for (uint64_t k = 0; k < count && parts.size() > 3; ++k)
                put(reinterpret_cast<void*>(address + k * width(parts[1])), parts[1],
                    parts[3] == "iota"   ? std::to_string(k)
                    : parts[3] == "zero" ? "0"
                                         : parts[3]);
            std::memcpy(at, &address, 8);
            buffers.push_back({parts[1], address, count});
        }
    }
    Machine device(machine, memory);
    LaunchResult result;
    for (int k = 0; k < repeats && result.ok; ++k) {
        auto begin = std::chrono::steady_clock::now();
        result = device.launch(*program, *kernel, config);
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (repeats > 1) std::printf("time: %.3f ms (%s)\n", seconds * 1e3, simd_level());
    }
    std::fflush(stdout);
    device.flush_printf();
    if (!quiet)
        for (size_t i = 0; i < buffers.size(); ++i) {
            std::cout << "buffer " << i << ':';
            for (uint64_t k = 0; k < buffers[i].count; ++k)
                show(reinterpret_cast<void*>(buffers[i].address + k * width(buffers[i].type)), buffers[i].type);
            std::cout << '\n';
        }
    if (!result.ok) std::cout << "fault: " << int(result.kind) << ": " << result.message << '\n';
    return result.ok ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "ptx_run: %s\n", error.what());
    return 2;
}
