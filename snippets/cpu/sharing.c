/* Each thread counts in a word of its own; what differs is how far apart the words are. */
#include <omp.h>
#include <stdint.h>

/* --8<-- [start:count] */
void count(uint64_t* counters, int64_t spacing, int64_t threads, int64_t steps) {
#pragma omp parallel num_threads(threads)
    {
        uint64_t* mine = counters + omp_get_thread_num() * spacing;
#pragma omp barrier /* begin together */
        for (int64_t i = 0; i < steps; ++i) __atomic_fetch_add(mine, 1, __ATOMIC_RELAXED);
    }
}
/* --8<-- [end:count] */
