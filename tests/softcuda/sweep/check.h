// What every file of the sweep includes.
//
//   TEST(name, blocks, threads, option…) { … }   a kernel; the options are for sweep.py, which reads them in the source:
//       since=90           has checks from this compute capability on
//       shared=4096        bytes of dynamic shared memory;  cooperative;  cluster=2
//       args="if":5,1.5    arguments, as Python's struct packs them: TEST_TAKING(name, …)(int i, float f)
//   SAME(got, want)        bit for bit, in the type of `got`;  CHECK(condition);  NEAR(got, want, relative error)
//   hide(x)                x, of which the compiler knows nothing
//
// Every thread counts its checks, so that a kernel that did nothing is not one that passed.
#pragma once

struct Report {
    unsigned checks, failures;
    struct {
        unsigned line, block, thread, unused;
        unsigned long long got, want;
    } first[4];
};

extern "C" {
__device__ Report report;
}

#define TEST(name, blocks, threads, ...) extern "C" __global__ void name()
#define TEST_TAKING(name, blocks, threads, ...) extern "C" __global__ void name

#define SAME(got, want) same_at(__LINE__, got, want)
#define CHECK(condition) record(__LINE__, (condition), 0, 0)
#define NEAR(got, want, relative) near_at(__LINE__, got, want, relative)

__device__ __noinline__ void record(unsigned line, bool right, unsigned long long got, unsigned long long want) {
    atomicAdd(&report.checks, 1u);
    if (right) return;
    unsigned n = atomicAdd(&report.failures, 1u);
    if (n < 4)
        report.first[n] = {line, blockIdx.x, threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z),
                           0,    got,        want};
}

template <class T>
__device__ unsigned long long bits_of(const T& x, unsigned part = 0) {
    unsigned long long bits = 0;
    const unsigned begin = part * 8, size = sizeof(T) - begin < 8 ? sizeof(T) - begin : 8;
    for (unsigned i = 0; i < size; ++i)
        bits |= (unsigned long long)reinterpret_cast<const unsigned char*>(&x)[begin + i] << 8 * i;
    return bits;
}

template <class Got, class Want>
__device__ __noinline__ void same_at(unsigned line, Got got, Want want) {
    const Got wanted = (Got)want;
    for (unsigned part = 0; part * 8 < sizeof(Got); ++part) {
        const unsigned long long a = bits_of(got, part), b = bits_of(wanted, part);
        record(line, a == b, a, b);
    }
}

__device__ __noinline__ void near_at(unsigned line, double got, double want, double relative) {
    const double distance = got > want ? got - want : want - got, size = want < 0 ? -want : want;
    record(line, distance <= relative * size || got == want, __double_as_longlong(got), __double_as_longlong(want));
}

template <class T>
__device__ T hide(T x) {
    if constexpr (sizeof(T) == 16) {
        unsigned long long part[2];
        memcpy(part, &x, 16);
        asm volatile("" : "+l"(part[0]), "+l"(part[1]));
        memcpy(&x, part, 16);
    } else if constexpr (sizeof(T) == 8) {
        unsigned long long bits;
        memcpy(&bits, &x, 8);
        asm volatile("" : "+l"(bits));
        memcpy(&x, &bits, 8);
    } else if constexpr (sizeof(T) == 4) {
        unsigned bits;
        memcpy(&bits, &x, 4);
        asm volatile("" : "+r"(bits));
        memcpy(&x, &bits, 4);
    } else {
        unsigned bits = 0;
        memcpy(&bits, &x, sizeof(T));
        asm volatile("" : "+r"(bits));
        memcpy(&x, &bits, sizeof(T));
    }
    return x;
}
