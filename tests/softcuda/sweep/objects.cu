// C++ that becomes calls: virtual functions, pointers, recursion, lambdas, big arguments and results, tables.
// nvcc: -extended-lambda
#include "check.h"

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
    __device__ virtual double scaled(double by, char sign) const { return sign * by * area(); }
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
    int length;
    __device__ explicit Strip(int length) : length(length) {}
    __device__ int area() const override { return length; }
    __device__ double scaled(double by, char) const override { return -by; }
};

TEST(virtual_functions, 1, 64) {
    const int i = threadIdx.x;
    Shape* shape = i % 3 ? (Shape*)new Square(i) : new Strip(i);
    SAME(shape->area(), i % 3 ? i * i : i);
    SAME(shape->scaled(0.5, -1), i % 3 ? -0.5 * i * i : -0.5);
    delete shape;
}

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int power(int a, int b) { return b ? a * power(a, b - 1) : 1; }
__device__ int (*table[])(int, int) = {plus, times, power};
__constant__ int (*fixed_table[])(int, int) = {times, plus};

TEST(function_pointers, 1, 64) {
    const int i = threadIdx.x;
    SAME(table[hide(i % 3)](i % 7, 3), i % 3 == 0 ? i % 7 + 3 : i % 3 == 1 ? i % 7 * 3 : i % 7 * (i % 7) * (i % 7));
    SAME(fixed_table[hide(i & 1)](i, 5), i & 1 ? i + 5 : i * 5);
    int (*chosen)(int, int) = hide(i) > 40 ? plus : times;
    SAME(chosen(i, 2), i > 40 ? i + 2 : i * 2);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    return !m ? n + 1 : ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}
__device__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return !n || odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n && even(n - 1); }

TEST(recursion, 1, 32) {
    const int want[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    SAME(fibonacci(hide(threadIdx.x % 10)), want[threadIdx.x % 10]);
    SAME(ackermann(2, hide(threadIdx.x % 3)), 2 * (threadIdx.x % 3) + 3);
    SAME(even(hide(threadIdx.x)), threadIdx.x % 2 == 0);
}

struct Big {
    double d[5];
    char c;
    short s;
};
struct Tiny {
    char a, b, c;
};
struct Empty {};

__device__ __noinline__ Big scaled(Big b, float by, Tiny t, Empty, bool negative) {
    for (double& d : b.d) d *= negative ? -by : by;
    b.c += t.a, b.s += t.c;
    return b;
}
__device__ __noinline__ Tiny turned(Tiny t) { return {t.b, t.c, t.a}; }
__device__ __noinline__ float4 four(float4 a, int2 b) { return make_float4(a.w, a.x + b.x, a.y + b.y, a.z); }
__device__ __noinline__ unsigned __int128 widened(unsigned __int128 x, unsigned char c) { return x * c; }

TEST(arguments, 1, 32) {
    const int i = threadIdx.x;
    const Big b = scaled({{1, 2, 3, 4, double(i)}, 'a', 7}, 2.5f, {1, 2, 3}, {}, i & 1);
    SAME(b.d[4], (i & 1 ? -2.5 : 2.5) * i);
    SAME(b.c, 'b');
    SAME(b.s, 10);
    const Tiny t = turned({char(i), 2, 3});
    SAME(t.c, i);
    SAME(four(make_float4(1, 2, 3, i), make_int2(5, 6)).x, float(i));
    SAME(four(make_float4(1, 2, 3, i), make_int2(5, 6)).z, 8.0f);
    SAME(widened((unsigned __int128)1 << 70, i), (unsigned __int128)i << 70);
}

template <class Function>
__device__ __noinline__ int twice(Function function, int x) {
    return function(function(x));
}

TEST(lambdas, 1, 32) {
    const int a = hide((int)threadIdx.x), b = 3;
    SAME(twice([=](int x) { return x * a + b; }, 2), (2 * a + b) * a + b);
    int count = 0;
    auto counted = [&count](auto x) mutable { return ++count, x; };
    SAME(counted(2.5) + counted(1), 3.5);
    SAME(count, 2);
#ifdef __CUDACC_RTC__
    auto device = [](int x) { return x + 1; };
#else
    auto device = [] __device__(int x) { return x + 1; };
#endif
    SAME(twice(device, a), a + 2);
    int (*pointer)(int) = [](int x) { return x - 1; };
    SAME(pointer(a), a - 1);
    auto nested = [&](auto self, int n) -> int { return n ? n + self(self, n - 1) : 0; };
    SAME(nested(nested, 10), 55);
}

struct Base {
    int x = 1;
    __device__ int member(int y) const { return x + y; }
    __device__ virtual int overridden() { return 1; }
};
struct Other {
    int z = 5;
    __device__ virtual int other() { return z; }
};
struct Both : Base, Other {
    __device__ int overridden() override { return 2; }
    __device__ int other() override { return z + x; }
};
struct Diamond : virtual Base {
    int w = 9;
};

TEST(members, 1, 32) {
    Both both;
    both.x = hide((int)threadIdx.x);
    int (Base::*method)(int) const = &Base::member;
    int Base::* data = &Base::x;
    SAME((both.*method)(3), (int)threadIdx.x + 3);
    SAME(both.*data, (int)threadIdx.x);
    Other* other = hide((Other*)&both);
    SAME(other->other(), (int)threadIdx.x + 5);
    Base* base = hide((Base*)&both);
    SAME(base->overridden(), 2);
    int (Base::*overridden)() = hide(threadIdx.x) < 40 ? &Base::overridden : nullptr;
    SAME((base->*overridden)(), 2);
}

__device__ int made;
struct Counted {
    __device__ Counted() { atomicAdd(&made, 1); }
    __device__ ~Counted() { atomicSub(&made, 1); }
    int payload[3] = {1, 2, 3};
};

TEST(lifetimes, 1, 64) {
    Counted* many = new Counted[5];
    __syncthreads();
    SAME(made, 320);
    SAME(many[hide(4)].payload[2], 3);
    __syncthreads();
    delete[] many;
    __syncthreads();
    SAME(made, 0);
}

TEST(switches, 1, 64) {
    const int i = hide((int)threadIdx.x % 16);
    int x = 100;
    switch (i) {
        case 0: x = 7; break;
        case 1: x *= 3; break;
        case 2: x -= i;
        case 3: x += 11; break;
        case 4: x = __popc(x); break;
        case 5: x = x << i; break;
        case 6: return;
        case 7: x ^= 0x55; break;
        case 8: x = -x; break;
        case 9: x = x % 7; break;
        case 11: x = fibonacci(6); break;
        default: x = -1;
    }
    const int want[] = {7, 300, 109, 111, 3, 3200, 0, 49, -100, 2, -1, 8, -1, -1, -1, -1};
    SAME(x, want[i]);
}

TEST(leaving_loops, 1, 64) {
    int steps = 0;
    for (int i = 0; i < 10; ++i)
        for (int j = 0; j < 10; ++j) {
            if (i * j == (int)threadIdx.x) goto found;
            if (j > (int)threadIdx.x) break;
            if ((i + j) % 3 == 0) continue;
            ++steps;
        }
found:
    CHECK(steps >= 0 && steps <= 70);
    const int n = hide((int)threadIdx.x);
    int sum = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) sum += i & 1 ? i : -i;
    SAME(sum, n % 2 ? -(n / 2) + (n - 1) / 2 * 0 : n / 2);
}
