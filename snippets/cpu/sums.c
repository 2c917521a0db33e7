/* Sums of 32-bit integers, which may be added in any order: what differs is the order in which memory is read.
   Compiled without the vectoriser, so that every version executes the same instructions per number. */
#include <stdint.h>

/* --8<-- [start:walks] */
uint32_t rows(const uint32_t* x, int64_t height, int64_t width, int64_t pitch) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) sum += x[i * pitch + j]; /* the next word */
    return sum;
}

uint32_t columns(const uint32_t* x, int64_t height, int64_t width, int64_t pitch) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < height; ++i) sum += x[i * pitch + j]; /* the next row */
    return sum;
}
/* --8<-- [end:walks] */

/* --8<-- [start:stride] */
uint32_t strided(const uint32_t* x, int64_t count, int64_t stride) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i * stride];
    return sum;
}
/* --8<-- [end:stride] */
