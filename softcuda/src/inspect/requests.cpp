#include "inspect/requests.h"

#include <algorithm>
#include <bit>

#include "inspect/pattern.h"

namespace softcuda::inspect {
namespace {

// Words that lie close together: a bit a word, 32 banks a row.
constexpr uint64_t row_bytes = banks * bank_bytes, most_rows = 32;
struct Rows {
    uint64_t count = 0;  // more than there are: they lie further apart
    uint32_t wanted[most_rows];
};
SOFTCUDA_WIDE void mark_all(const uint64_t* offsets, Rows& rows) {  // a word of each lane
    uint64_t low = offsets[0], high = offsets[0];
    for (int i = 0; i < warp_size; ++i) {
        low = offsets[i] < low ? offsets[i] : low;
        high = offsets[i] > high ? offsets[i] : high;
    }
    const uint64_t first = low / row_bytes * row_bytes;
    rows.count = (high - first) / row_bytes + 1;
    if (rows.count > most_rows) return;
    uint32_t bit[warp_size], row[warp_size];
    for (int i = 0; i < warp_size; ++i) {
        const auto word = static_cast<uint32_t>(offsets[i] - first) / bank_bytes;
        bit[i] = 1u << word % banks;
        row[i] = word / banks;
    }
    constexpr uint64_t at_once = 16;  // no remainder: vectors of rows
    for (uint32_t r = 0; r < (rows.count + at_once - 1) / at_once * at_once; ++r) {
        uint32_t wanted = 0;
        for (int i = 0; i < warp_size; ++i) wanted |= row[i] == r ? bit[i] : 0;
        rows.wanted[r] = wanted;
    }
}
void mark(const uint64_t* offsets, uint32_t lanes, uint32_t bytes, Rows& rows) {
    uint64_t low = ~0ull, high = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t at = offsets[std::countr_zero(rest)];
        low = std::min(low, at), high = std::max(high, at);
    }
    const uint64_t first = low / row_bytes * row_bytes;
    rows.count = (high + bytes - 1 - first) / row_bytes + 1;
    if (rows.count > most_rows) return;
    std::fill_n(rows.wanted, rows.count, 0);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto word = static_cast<uint32_t>(offsets[std::countr_zero(rest)] - first) / bank_bytes;
        for (uint32_t at = word; at <= word + (bytes - 1) / bank_bytes; ++at)
            rows.wanted[at / banks] |= 1u << at % banks;
    }
}

// The largest number of distinct words that one bank has to serve to these lanes: the bits of each column are counted, in
// all columns at once.  0: the words lie too far apart.
uint32_t close_passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    Rows rows;
    if (lanes == all_lanes && bytes <= bank_bytes)
        mark_all(offsets, rows);
    else
        mark(offsets, lanes, bytes, rows);
    if (rows.count > most_rows) return 0;
    constexpr uint32_t size = 6;  // digits of a count of at most 32
    uint32_t digits[size] = {};   // digits[k] has bit k of each column's
    for (uint64_t row = 0; row < rows.count; ++row) {
        uint32_t carry = rows.wanted[row];
#pragma GCC unroll 6
        for (uint32_t k = 0; k < size; ++k) {
            const uint32_t next = digits[k] & carry;
            digits[k] ^= carry;
            carry = next;
        }
    }
    uint32_t most = 0, columns = ~0u;  // that have all the digits of `most` so far
#pragma GCC unroll 6
    for (uint32_t k = size; k-- > 0;) {
        const uint32_t both = columns & digits[k];
        columns = both ? both : columns;
        most |= uint32_t(both != 0) << k;
    }
    return most;
}

// Words that were met in this call, by some of their bits.
struct Met {
    static constexpr uint32_t slots = 1024, word_bits = 16;
    uint32_t word[slots] = {};  // with the call's number above it
    uint32_t call = 0;

    uint32_t next_call() {
        if (++call >> (32 - word_bits)) {
            std::fill_n(word, slots, 0);
            call = 1;
        }
        return call;
    }
};

// The same of words further apart.  Without a branch that depends on data: random addresses are just what makes conflicts.
uint32_t quick_passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    thread_local Met kept;
    Met& met = kept;
    const uint32_t call = met.next_call();
    uint32_t* const met_word = met.word;
    uint8_t in_bank[banks] = {};
    uint64_t beyond = 0;
    const auto meet = [&](uint64_t word) {
        uint32_t& slot = met_word[word % Met::slots];
        const uint32_t own = call << Met::word_bits | static_cast<uint32_t>(word), before = slot;
        const uint32_t fresh = before != own, taken = before >> Met::word_bits == call;
        beyond |= word >> Met::word_bits | (fresh & taken);
        slot = own;
        in_bank[word % banks] = static_cast<uint8_t>(in_bank[word % banks] + fresh);
    };
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t first = offsets[std::countr_zero(rest)] / bank_bytes;
        meet(first);
        for (uint32_t more = 1; more < bytes / bank_bytes; ++more) meet(first + more);
    }
    if (beyond) return 0;  // two words met in one slot: somebody else has to count
    return *std::max_element(in_bank, in_bank + banks);
}

uint32_t passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    if (const uint32_t most = close_passes(offsets, lanes, bytes)) return most;
    if (const uint32_t most = quick_passes(offsets, lanes, bytes)) return most;
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
    if (bytes <= bank_bytes) return {passes(offsets, lanes, bytes), 1};
    SharedPasses result;
    const uint32_t parts = bytes / bank_bytes;
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
