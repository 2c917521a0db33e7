/* The automaton on one core. Compiled by _walk.py with -O3 -march=native and called through ctypes.

   walk    one lookup a symbol. A state is numbered by where its row begins, so the next index is one OR away.
   walk8   one lookup for 8 symbols: a multiplication brings their lowest bits together. Rows of 256 entries. */
#include <stdint.h>
#include <string.h>

/* --8<-- [start:walk] */
uint64_t walk(const uint8_t* text, int64_t n, const uint8_t* next, const uint8_t* accepting, uint8_t* state) {
    uint64_t count = 0;
    uint8_t q = *state; /* twice the state's number */
    for (int64_t i = 0; i < n; ++i) {
        q = next[q | (text[i] & 1)];
        count += accepting[q];
    }
    *state = q;
    return count;
}

uint64_t walk8(const uint8_t* text, int64_t n, const uint32_t* next, uint32_t* state) {
    uint64_t count = 0;
    uint32_t q = *state; /* 256 times the state's number; an entry: count << 16 | 256 times the next state */
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        uint64_t x;
        memcpy(&x, text + i, 8);
        uint32_t now = next[q | (x & 0x0101010101010101u) * 0x0102040810204080u >> 56];
        count += now >> 16;
        q = now & 0xffff;
    }
    *state = q;
    return count;
}
/* --8<-- [end:walk] */
