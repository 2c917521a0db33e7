// CUB's DeviceHistogram behind plain functions, for cub.py, which compiles this file into a library.
#include <cub/device/device_histogram.cuh>

// Counts n elements into 256 equal bins of [low, high). Without `temporary` only says in `bytes` how much it must hold.
template <class T, class Level>
static int count(void* temporary, size_t* bytes, const T* x, int* out, Level low, Level high, int n) {
    return cub::DeviceHistogram::HistogramEven(temporary, *bytes, x, out, 257, low, high, n);
}

extern "C" int count_floats(void* temporary, size_t* bytes, const float* x, int* out, int n) {
    return count(temporary, bytes, x, out, 0.0f, 1.0f, n);
}

extern "C" int count_bytes(void* temporary, size_t* bytes, const unsigned char* x, int* out, int n) {
    return count(temporary, bytes, x, out, 0, 256, n);
}
