// PTX text -> parse -> decode and lay out: whatever the text, only the two errors that say why, or no memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/memory.h"
#include "machine/program.h"
#include "ptx/ast.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    softcuda::Memory memory(uint64_t(16) << 20);
    try {
        auto module = softcuda::ptx::parse({reinterpret_cast<const char*>(data), size});
        softcuda::load(module, memory);
    } catch (const softcuda::ptx::Error&) {
    } catch (const softcuda::LoadError&) {
    } catch (const std::bad_alloc&) {
    }
    return 0;
}
