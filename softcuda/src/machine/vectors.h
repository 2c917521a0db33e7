// The CPU's own vectors, for what the compiler does not find by itself.
#pragma once

#if defined(__AVX512BW__) || defined(__AVX2__)
// GCC 12 thinks that its own intrinsics read what they leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif
