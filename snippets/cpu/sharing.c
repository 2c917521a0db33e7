/* Each thread counts in a word of its own; what differs is how far apart the words are. */
#include <stdint.h>

/* --8<-- [start:count] */
void count(uint64_t* counters, int64_t spacing, int64_t threads, int64_t steps) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t t = 0; t < threads; ++t) {
        volatile uint64_t* mine = counters + t * spacing; /* volatile: load and store at every step */
        for (int64_t i = 0; i < steps; ++i) *mine += 1;
    }
}
/* --8<-- [end:count] */
