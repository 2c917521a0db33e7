#include "inspect/requests.h"

#include <algorithm>
#include <bit>

namespace softcuda::inspect {
namespace {

// Whether no bank has to serve more than one word: the usual case, and a quick answer.
bool one_pass(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    uint64_t served[banks];
    uint32_t busy = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t at = offsets[std::countr_zero(rest)];
        for (uint64_t word = at / bank_bytes; word <= (at + bytes - 1) / bank_bytes; ++word) {
            const uint32_t bank = word % banks;
            if ((busy >> bank) & 1 && served[bank] != word) return false;
            served[bank] = word;
            busy |= 1u << bank;
        }
    }
    return true;
}

// The largest number of distinct words that one bank has to serve to these lanes.
uint32_t passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    if (one_pass(offsets, lanes, bytes)) return 1;
    uint64_t words[32 * 4];
    uint32_t count = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t at = offsets[std::countr_zero(rest)];
        for (uint64_t word = at / bank_bytes; word <= (at + bytes - 1) / bank_bytes; ++word) words[count++] = word;
    }
    std::sort(words, words + count);
    uint32_t in_bank[banks] = {}, most = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (i == 0 || words[i] != words[i - 1]) most = std::max(most, ++in_bank[words[i] % banks]);
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
    for (uint32_t i = 0; i < count; ++i)
        if (i == 0 || touched[i] != touched[i - 1]) result.number[result.count++] = touched[i];
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
