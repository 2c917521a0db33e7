#include "machine/builtins.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "machine/block.h"
#include "machine/call_values.h"
#include "machine/device_runtime.h"
#include "machine/printer.h"

namespace softcuda {

std::byte* host_memory(Warp& warp, int lane, uint64_t address, uint64_t bytes) {
    const Block& block = *warp.block;
    if (address >= shared_window && address < shared_window_end) {
        uint64_t offset = address & 0xffffff;
        return offset + bytes <= block.shared_bytes ? block.shared + offset : nullptr;
    }
    if (address >= local_window && address < local_window_end) {
        uint64_t offset = address - local_window;
        if (offset + bytes > block.local_stride) return nullptr;
        return block.local + uint64_t(block.local_stride) * (warp.index * warp_size + static_cast<uint32_t>(lane)) +
               offset;
    }
    const Allocation* allocation = Memory::find(*warp.worker->view, address);
    return allocation && bytes <= allocation->end() - address ? reinterpret_cast<std::byte*>(address) : nullptr;
}

namespace {

constexpr size_t longest_text = 1u << 20;  // as much as the printer holds

std::string text_at(Warp& warp, const Op& op, int lane, uint64_t address) {
    if (address == 0) return "(null)";
    std::string text;
    for (;; ++address) {
        const std::byte* at = host_memory(warp, lane, address, 1);
        if (!at) {
            warp.fault_address = address;
            warp.fault(FaultKind::illegal_address, op, lane, "printf reads a string that does not end");
        }
        if (*at == std::byte{0} || text.size() == longest_text) return text;
        text += static_cast<char>(*at);
    }
}

// One %-conversion with its value taken from `values` (8-byte slots by alignment, as the compiler packs them).
class Formatter {
  public:
    Formatter(Warp& warp, const Op& op, int lane, uint64_t values)
        : warp_(warp), op_(op), lane_(lane), values_(values) {}

    std::string format(const std::string& form) {
        std::string text;
        for (size_t i = 0; i < form.size(); ++i) {
            if (form[i] != '%') {
                text += form[i];
                continue;
            }
            size_t begin = i++;
            std::string spec = "%";
            auto number_or_star = [&] {
                int64_t number = 0;
                bool given = false;
                if (i < form.size() && form[i] == '*') {
                    number = next<int32_t>();
                    given = true;
                    ++i;
                }
                for (; i < form.size() && form[i] >= '0' && form[i] <= '9'; ++i, given = true)
                    number = std::min(number * 10 + (form[i] - '0'), widest);
                if (given) spec += std::to_string(std::clamp(number, -widest, widest));
            };
            while (i < form.size() && std::strchr("-+ #0", form[i])) spec += form[i++];
            number_or_star();
            if (i < form.size() && form[i] == '.') {
                spec += form[i++];
                number_or_star();
            }
            int longs = 0;
            while (i < form.size() && std::strchr("hlLjzt", form[i])) {
                if (form[i] == 'l' || form[i] == 'j' || form[i] == 'z' || form[i] == 't') longs += 1;
                ++i;
            }
            if (i >= form.size()) return text + form.substr(begin);
            char conversion = form[i];
            switch (conversion) {
                case '%': text += '%'; break;
                case 'd':
                case 'i':
                    text += longs ? print(spec + "ll" + conversion, static_cast<long long>(next<int64_t>()))
                                  : print(spec + conversion, next<int32_t>());
                    break;
                case 'u':
                case 'x':
                case 'X':
                case 'o':
                    text += longs ? print(spec + "ll" + conversion, static_cast<unsigned long long>(next<uint64_t>()))
                                  : print(spec + conversion, next<uint32_t>());
                    break;
                case 'c': text += print(spec + conversion, next<int32_t>()); break;
                case 'e':
                case 'E':
                case 'f':
                case 'F':
                case 'g':
                case 'G':
                case 'a':
                case 'A': text += print(spec + conversion, next<double>()); break;
                case 'p': text += print(spec + conversion, reinterpret_cast<void*>(next<uint64_t>())); break;
                case 's': text += print(spec + conversion, text_at(warp_, op_, lane_, next<uint64_t>()).c_str()); break;
                default: text += form.substr(begin, i - begin + 1);  // as CUDA does: printed as it stands
            }
        }
        return text;
    }

  private:
    static constexpr int64_t widest = 4096;  // characters of one value: no format may ask for the host's memory

    template <class T>
    T next() {
        offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const std::byte* at = host_memory(warp_, lane_, values_ + offset_, sizeof(T));
        if (!at) {
            warp_.fault_address = values_ + offset_;
            warp_.fault(FaultKind::illegal_address, op_, lane_, "printf has fewer arguments than its format names");
        }
        offset_ += sizeof(T);
        T value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }

    template <class T>
    std::string print(const std::string& spec, T value) {
        int length = std::snprintf(nullptr, 0, spec.c_str(), value);
        if (length < 0) return spec;
        std::string text(static_cast<size_t>(length) + 1, '\0');
        std::snprintf(text.data(), text.size(), spec.c_str(), value);
        text.pop_back();
        return text;
    }

    Warp& warp_;
    const Op& op_;
    int lane_;
    uint64_t values_;
    uint64_t offset_ = 0;
};

int arguments_named(const std::string& form) {
    int count = 0;
    for (size_t i = 0; i + 1 < form.size(); ++i) {
        if (form[i] != '%') continue;
        if (form[i + 1] == '%')
            ++i;
        else
            ++count;
    }
    return count;
}

void exec_vprintf(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        std::string form = text_at(warp, op, lane, argument<uint64_t>(warp, op, 0, lane));
        warp.block->launch->printer->print(
            Formatter(warp, op, lane, argument<uint64_t>(warp, op, 1, lane)).format(form));
        give_back<int32_t>(warp, op, lane, arguments_named(form));
    }
}

void exec_assertfail(Warp& warp, const Op& op, uint32_t lanes) {
    const Launch& launch = *warp.block->launch;
    const Dim3& shape = launch.config->block;
    std::string first;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {  // every failing lane says so, the first ends the launch
        int lane = std::countr_zero(rest);
        std::string condition = text_at(warp, op, lane, argument<uint64_t>(warp, op, 0, lane));
        std::string file = text_at(warp, op, lane, argument<uint64_t>(warp, op, 1, lane));
        auto line = argument<uint32_t>(warp, op, 2, lane);
        std::string function = text_at(warp, op, lane, argument<uint64_t>(warp, op, 3, lane));
        uint32_t thread = warp.index * warp_size + static_cast<uint32_t>(lane);
        const uint32_t* block = warp.block->index;
        char where[160];
        std::snprintf(where, sizeof where, "block: [%u,%u,%u], thread: [%u,%u,%u]", block[0], block[1], block[2],
                      thread % shape.x, thread / shape.x % shape.y, thread / (shape.x * shape.y));
        launch.printer->print(file + ":" + std::to_string(line) + ": " + function + ": " + where + " Assertion `" +
                                  condition + "` failed.\n",
                              true);
        if (first.empty()) first = "assertion `" + condition + "` of " + file + ":" + std::to_string(line);
    }
    warp.fault(FaultKind::assertion, op, std::countr_zero(lanes), first);
}

void exec_malloc(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        give_back<uint64_t>(warp, op, lane, warp.block->launch->heap->allocate(argument<uint64_t>(warp, op, 0, lane)));
    }
}

void exec_free(Warp& warp, const Op& op, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        int lane = std::countr_zero(lanes);
        auto address = argument<uint64_t>(warp, op, 0, lane);
        if (address == 0 || warp.block->launch->heap->release(address)) continue;
        warp.fault_address = address;
        warp.fault(FaultKind::invalid_free, op, lane, "free() of what malloc() has not given, or has been freed");
    }
}

}  // namespace

Exec builtin(const std::string& name) {
    if (name == "vprintf") return exec_vprintf;
    if (name == "__assertfail") return exec_assertfail;
    if (name == "malloc") return exec_malloc;
    if (name == "free") return exec_free;
    return device_runtime_builtin(name);
}

}  // namespace softcuda
