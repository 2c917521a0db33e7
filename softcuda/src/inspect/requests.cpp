#include "inspect/requests.h"

#include <algorithm>
#include <bit>

namespace softcuda::inspect {
namespace {

// The largest number of distinct words that one bank has to serve to these lanes.
uint32_t passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    constexpr uint8_t none = 0xff;
    uint64_t words[32 * 4];  // distinct ones, those of a bank chained
    uint8_t next[32 * 4], first[banks], in_bank[banks] = {};
    std::fill_n(first, banks, none);
    uint8_t count = 0, most = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t at = offsets[std::countr_zero(rest)];
        for (uint64_t word = at / bank_bytes; word <= (at + bytes - 1) / bank_bytes; ++word) {
            const uint32_t bank = word % banks;
            uint8_t same = first[bank];
            while (same != none && words[same] != word) same = next[same];
            if (same != none) continue;
            words[count] = word;
            next[count] = first[bank];
            first[bank] = count++;
            most = std::max(most, ++in_bank[bank]);
        }
    }
    return most;
}

// Whether each of the lanes wants the same as its partner, lane ^ step.
bool paired(const uint64_t* offsets, uint32_t lanes, uint32_t step) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t lane = uint32_t(std::countr_zero(rest)), partner = lane ^ step;
        if ((lanes >> partner) & 1 && offsets[lane] != offsets[partner]) return false;
    }
    return true;
}

}  // namespace

Sectors sectors(const uint64_t* addresses, uint32_t lanes) {
    uint64_t touched[32];
    uint32_t count = 0;
    bool rising = true;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        touched[count] = addresses[std::countr_zero(rest)] / sector_bytes;
        rising = rising && (count == 0 || touched[count] >= touched[count - 1]);
        ++count;
    }
    if (!rising) std::sort(touched, touched + count);
    Sectors result;
    for (uint32_t i = 0; i < count; ++i) {
        if (i && touched[i] == touched[i - 1]) continue;
        const uint64_t line = touched[i] / line_sectors;
        if (!result.lines || result.line[result.lines - 1] != line) {
            result.line[result.lines] = line;
            result.in_line[result.lines++] = 0;
        }
        result.in_line[result.lines - 1] |= static_cast<uint8_t>(1u << touched[i] % line_sectors);
        ++result.count;
    }
    return result;
}

uint32_t atomic_sectors(const uint64_t* addresses, uint32_t lanes) {
    uint64_t named[32];
    uint32_t count = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) named[count++] = addresses[std::countr_zero(rest)];
    std::sort(named, named + count);
    uint32_t total = 0, most = 0;  // in the sector at hand
    for (uint32_t i = 0; i < count;) {
        uint32_t same = i;
        while (same < count && named[same] == named[i]) ++same;
        most = std::max(most, same - i);
        if (same == count || named[same] / sector_bytes != named[i] / sector_bytes) {
            total += most;
            most = 0;
        }
        i = same;
    }
    return total;
}

SharedPasses shared_passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    SharedPasses result;
    uint32_t parts = bytes <= 4 ? 1 : bytes / 4;
    const uint32_t whole = bytes <= 8 ? 32 : 16;  // lanes that may go together at best
    for (uint32_t first = 0; first < 32; first += whole) {
        const uint32_t group = lanes & (whole == 32 ? ~0u : ((1u << whole) - 1) << first);
        if (!group) continue;
        const bool together = paired(offsets, group, 1) || paired(offsets, group, 2);
        const uint32_t width = together ? whole : 32 / parts;
        for (uint32_t at = first; at < first + whole; at += width) {
            const uint32_t part = group & (width == 32 ? ~0u : ((1u << width) - 1) << at);
            if (!part) continue;
            result.wavefronts += passes(offsets, part, bytes);
            result.ideal += 1;
        }
    }
    return result;
}

}  // namespace softcuda::inspect
