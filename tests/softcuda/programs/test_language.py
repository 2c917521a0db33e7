# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""CUDA C++ beyond arithmetic: calls, objects, allocation, printf, atomics, wide loads, and how programs fail."""

from __future__ import annotations

import re

import numpy as np
import pycuda.driver as cuda
import pytest


def test_recursion_pointers_and_virtual_functions(compile) -> None:
    kernel = compile(
        """
        struct Shape { __device__ virtual ~Shape() {} __device__ virtual int area() const = 0; };
        struct Square : Shape { int a; __device__ Square(int a) : a(a) {} __device__ int area() const override { return a * a; } };
        struct Strip : Shape { int a; __device__ Strip(int a) : a(a) {} __device__ int area() const override { return a; } };
        __device__ __noinline__ int plus(int a, int b) { return a + b; }
        __device__ __noinline__ int times(int a, int b) { return a * b; }
        __device__ int (*operations[])(int, int) = {plus, times};
        __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
        extern "C" __global__ void objects(int *out)
        {
            int i = threadIdx.x;
            Shape *shape = i % 3 ? (Shape *)new Square(i) : new Strip(i);
            out[3 * i] = shape->area();
            delete shape;
            out[3 * i + 1] = operations[i & 1](i, 7);
            out[3 * i + 2] = fibonacci(i % 12);
        }
        """
    ).get_function("objects")
    out = np.zeros((64, 3), np.int32)
    kernel(cuda.Out(out), block=(64, 1, 1))
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert out.tolist() == [[i * i if i % 3 else i, i * 7 if i & 1 else i + 7, fibonacci[i % 12]] for i in range(64)]


def test_malloc_in_a_kernel(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void lists(int *out)
        {
            struct Node { int value; Node *next; } *head = nullptr;
            for (int i = 0; i <= threadIdx.x; i++) { Node *n = (Node *)malloc(sizeof(Node)); n->value = i; n->next = head; head = n; }
            int sum = 0;
            while (head) { Node *n = head; sum = sum * 3 + n->value; head = n->next; free(n); }
            out[threadIdx.x] = sum;
        }
        """
    ).get_function("lists")
    out = np.zeros(40, np.int32)
    kernel(cuda.Out(out), block=(40, 1, 1))
    for i in range(40):
        want = 0
        for value in range(i, -1, -1):
            want = want * 3 + value & 0xFFFFFFFF
        assert out[i] == np.uint32(want).view(np.int32)


ATOMICS = [
    ("int", "atomicAdd", np.int32, np.add), ("unsigned", "atomicAdd", np.uint32, np.add),
    ("unsigned long long", "atomicAdd", np.uint64, np.add), ("float", "atomicAdd", np.float32, np.add),
    ("double", "atomicAdd", np.float64, np.add), ("int", "atomicMin", np.int32, np.minimum),
    ("unsigned", "atomicMin", np.uint32, np.minimum), ("long long", "atomicMin", np.int64, np.minimum),
    ("int", "atomicMax", np.int32, np.maximum), ("unsigned", "atomicMax", np.uint32, np.maximum),
    ("unsigned long long", "atomicMax", np.uint64, np.maximum), ("int", "atomicAnd", np.int32, np.bitwise_and),
    ("unsigned long long", "atomicOr", np.uint64, np.bitwise_or), ("unsigned", "atomicXor", np.uint32, np.bitwise_xor),
]  # fmt: skip


def test_atomics(compile) -> None:
    """Every type on global and shared memory, with several threads on each of 13 places."""
    body = "".join(
        f"""
        extern "C" __global__ void k{n}({kind} *total, {kind} *shared, const {kind} *a)
        {{
            __shared__ {kind} s[13];
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (threadIdx.x < 13) s[threadIdx.x] = total[threadIdx.x];
            __syncthreads();
            {f}(&s[i % 13], a[i]);
            {f}(&shared[i % 13], a[i]);
            __syncthreads();
            if (threadIdx.x < 13 && gridDim.x == 1) total[threadIdx.x] = s[threadIdx.x];
        }}
        """
        for n, (kind, f, _, _) in enumerate(ATOMICS)
    )
    module = compile(body)
    for n, (kind, f, dtype, reference) in enumerate(ATOMICS):
        a = np.random.randint(0, 1 << 20, 208).astype(dtype)
        start = np.random.randint(0, 1 << 20, 13).astype(dtype)
        want = [reference.reduce(np.append(a[k::13], start[k])) for k in range(13)]
        total, other = start.copy(), start.copy()
        module.get_function(f"k{n}")(cuda.InOut(total), cuda.InOut(other), cuda.In(a), block=(208, 1, 1))
        assert total.tolist() == other.tolist() == [w.item() for w in want], (kind, f)
        several = start.copy()
        module.get_function(f"k{n}")(cuda.InOut(total), cuda.InOut(several), cuda.In(a), block=(52, 1, 1), grid=(4, 1))
        assert several.tolist() == [w.item() for w in want], (kind, f)


def test_exchange_increment_and_compare(compile) -> None:
    kernel = compile(
        """
        #include <cuda_fp16.h>
        extern "C" __global__ void others(unsigned *a, unsigned long long *seen, __half2 *h, unsigned short *s)
        {
            seen[threadIdx.x] = atomicInc(&a[0], 9);
            atomicDec(&a[1], 9);
            unsigned old = a[2], assumed;
            do { assumed = old; old = atomicCAS(&a[2], assumed, assumed * 2 + 1); } while (old != assumed);
            atomicExch(&a[3], threadIdx.x);
            atomicAdd(h, __floats2half2_rn(1, 2));
            unsigned short o = *s, t;
            do { t = o; o = atomicCAS(s, t, (unsigned short)(t + 3)); } while (o != t);
        }
        """
    ).get_function("others")
    a, seen = np.zeros(4, np.uint32), np.zeros(25, np.uint64)
    h, s = np.zeros(2, np.float16), np.zeros(2, np.uint16)
    kernel(cuda.InOut(a), cuda.InOut(seen), cuda.InOut(h), cuda.InOut(s), block=(25, 1, 1))
    assert sorted(seen.tolist()) == sorted(i % 10 for i in range(25))
    assert a[:3].tolist() == [5, 5, (1 << 25) - 1] and a[3] < 25
    assert h.tolist() == [25, 50] and s.tolist() == [75, 0]


def test_wide_loads(compile) -> None:
    kernel = compile(
        """
        struct __align__(8) Pair { float x; int n; };
        extern "C" __global__ void wide(const float4 *a, const double2 *b, const char4 *c, const Pair *p, const longlong2 *l, double *out)
        {
            int i = threadIdx.x;
            float4 f = __ldg(a + i); double2 d = b[i]; char4 q = c[i]; Pair r = p[i]; longlong2 w = __ldcs(l + i);
            out[i] = f.x + 2 * f.y + 3 * f.z + 4 * f.w + d.x - d.y + q.x + 2 * q.y - 3 * q.z + q.w + r.x * r.n + w.x - w.y;
        }
        """
    ).get_function("wide")
    a = np.random.randint(-9, 9, (50, 4)).astype(np.float32)
    b = np.random.rand(50, 2)
    c = np.random.randint(-128, 128, (50, 4)).astype(np.int8)
    p = np.zeros(50, np.dtype([("x", np.float32), ("n", np.int32)]))
    p["x"], p["n"] = np.random.randint(-9, 9, 50), np.random.randint(-9, 9, 50)
    w = np.random.randint(-(1 << 40), 1 << 40, (50, 2))
    out = np.zeros(50)
    kernel(*(cuda.In(x) for x in (a, b, c, p, w)), cuda.Out(out), block=(50, 1, 1))
    want = a @ [1, 2, 3, 4] + b[:, 0] - b[:, 1] + c @ np.array([1, 2, -3, 1]) + p["x"] * p["n"] + (w[:, 0] - w[:, 1])
    np.testing.assert_allclose(out, want, rtol=1e-12)


def test_clocks_go_forward(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void clocks(long long *out)
        {
            long long a = clock64(); int c = clock();
            for (volatile int i = 0; i < 50; i++) {}
            out[threadIdx.x] = clock64() - a; out[threadIdx.x + 32] = clock() - c;
        }
        """
    ).get_function("clocks")
    out = np.zeros(64, np.int64)
    kernel(cuda.Out(out), block=(32, 1, 1))
    assert (out >= 50).all() and (out < 1_000_000).all()


def test_printf(program) -> None:
    done = program(
        r'''
import pycuda.autoinit
from pycuda.compiler import SourceModule
SourceModule(r"""
#include <cstdio>
extern "C" __global__ void speak()
{
    int i = threadIdx.x;
    if (i == 0) printf("%d|%5d|%-5d|%05d|%+d|%x|%#X|%o|%c|%%\n", -7, 42, 42, 42, 42, 48879, 48879, 8, 'q');
    if (i == 0) printf("%lld %llu %s %.3s [%10.3f] %g %e %i\n", -(1ll << 40), ~0ull, "text", "longer", 3.14159, 1e-7, 12345.678, 5);
    if (i == 0) printf("%hd %hhd %u %*d no newline", (short)-3, (signed char)-4, 4000000000u, 6, 12);
    if (i == 0) printf("\n");
    printf("%d\n", i);
}
""", no_extern_c=True).get_function("speak")(block=(40, 1, 1))
pycuda.autoinit.context.synchronize()
'''
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "-7|   42|42   |00042|+42|beef|0XBEEF|10|q|%"
    assert lines[1] == "-1099511627776 18446744073709551615 text lon [     3.142] 1e-07 1.234568e+04 5"
    assert lines[2] == "-3 -4 4000000000     12 no newline"
    assert lines[3:] == [str(i) for i in range(40)]


FAULTS = {
    "out of bounds": (
        "a[n + threadIdx.x * 64] = 1;",
        "illegal memory access",
        ["thread (0,0,0)", "400 bytes", "kernel.cu:5"],
    ),
    "far below": ("a[-n * 1000] = 1;", "illegal memory access", ["kernel.cu"]),
    "null": ("int *p = a - (size_t)a / 4; *p = n;", "illegal memory access", ["kernel.cu"]),
    "unaligned": ("*(int *)((char *)a + 2 + 0 * n) = 1;", "misaligned address", ["kernel.cu"]),
    "unaligned vector": ("*(int4 *)(a + 1) = make_int4(n, 0, 0, 0);", "misaligned address", ["kernel.cu"]),
    "shared": ("__shared__ int s[8]; s[n * 100000] = n; a[0] = s[n & 3];", "illegal|invalid", ["kernel.cu"]),
    "assert": ("assert(n == 0);", "assert", ["n == 0"]),
    "trap": ("if (n) __trap();", "illegal instruction|launch failed|unspecified launch failure", ["kernel.cu"]),
    "endless recursion": ("a[0] = deep(n);", "illegal|launch|stack", ["deep"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(program, fault: str) -> None:
    """The error, and on stderr the kernel, the thread and the source line; the process lives on."""
    statement, error, words = FAULTS[fault]
    done = program(
        f'''
import re, numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
cuda.init()
context = cuda.Device(0).make_context()
kernel = SourceModule("""#include <cassert>
__device__ __noinline__ int deep(int n) {{ volatile int pad[100]; pad[n % 100] = n; return deep(n + 1) + pad[n % 50]; }}
extern "C" __global__ void wrong(int *a, int n)
{{
    {statement}
}}
""", no_extern_c=True).get_function("wrong")
a = cuda.mem_alloc(400)
try:
    kernel(a, np.int32(100), block=(2, 1, 1))
    context.synchronize()
    print("nothing happened")
except cuda.Error as error:
    print("raised", error)
try:
    context.synchronize()
    print("not sticky")
except cuda.Error as error:
    print("still", error)
''',
        SOFTCUDA_QUIET="0",
    )
    assert re.search(f"raised .*({error})", done.stdout), done.stdout + done.stderr
    assert "still" in done.stdout
    for word in ["wrong", *words]:
        assert word in done.stderr, done.stderr


REFUSED = {
    "tex": """extern "C" __global__ void k(cudaTextureObject_t t, float *a) { a[0] = tex2D<float>(t, 1, 2); }""",
    "suld": """extern "C" __global__ void k(cudaSurfaceObject_t t, float *a) { a[0] = surf2Dread<float>(t, 4, 2); }""",
    "tcgen05.wait": """extern "C" __global__ void k() { asm volatile("tcgen05.wait::ld.sync.aligned;"); }""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_at_load(compile, capfd, name: str) -> None:
    """The instruction and its line; when it is there one day, these programs move to the others."""
    with pytest.raises(cuda.Error) as raised:
        compile(REFUSED[name])
    told = str(raised.value) + capfd.readouterr().err
    assert name in told and "kernel.cu" in told, told


def test_wmma_is_right_or_refused(compile, capfd) -> None:
    """A warp-wide matrix product: the right answer, or the instruction's name and line at load."""
    source = """#include <mma.h>
        extern "C" __global__ void k(const half *a, float *c)
        {
            using namespace nvcuda::wmma;
            fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb;
            fragment<accumulator, 16, 16, 16, float> fc; fill_fragment(fc, 1.0f);
            load_matrix_sync(fa, a, 16); load_matrix_sync(fb, a + 256, 16); mma_sync(fc, fa, fb, fc);
            store_matrix_sync(c, fc, 16, mem_row_major);
        }"""
    try:
        kernel = compile(source).get_function("k")
    except cuda.Error as error:
        told = str(error) + capfd.readouterr().err
        assert "wmma" in told and "kernel.cu" in told, told
        return
    a, c = np.random.randn(2, 16, 16).astype(np.float16), np.full((16, 16), np.nan, np.float32)
    kernel(cuda.In(a), cuda.InOut(c), block=(32, 1, 1))
    np.testing.assert_allclose(c, a[0].astype(np.float64) @ a[1].astype(np.float64).T + 1, rtol=1e-5, atol=1e-5)


def test_alloca(compile):
    """Memory that lasts as long as its function, of a size that differs by thread, under calls that use the stack too."""
    source = r"""
    __device__ __noinline__ int used(int *p, int n) {
        int own[4] = {1, n, n + 1, n + 2};
        for (int i = 0; i < n; ++i) p[i] = i * n + own[(i + n) & 3];
        int sum = 0;
        for (int i = 0; i < n; ++i) sum += p[(7 * i) % n] - own[((7 * i) % n + n) & 3];
        return sum;
    }
    extern "C" __global__ void growing(int *out, int n) {
        int sum = 0, first[3] = {n, n, n};
        for (int k = 1; k <= n + (int)threadIdx.x % 5; ++k) {
            int *p = (int *)__builtin_alloca(k * sizeof(int));
            p[0] = -k;
            sum += used(p, k) + first[k % 3] - n;
        }
        out[threadIdx.x] = sum;
    }
    extern "C" __global__ void saved(unsigned long long *out) {
        unsigned long long before, after, p, q;
        asm volatile("{ .reg .b64 s; stacksave.u64 %0; alloca.u64 %1, 100, 32; stackrestore.u64 %0; alloca.u64 %2, 8;"
                     " stacksave.u64 %3; }" : "=l"(before), "=l"(p), "=l"(q), "=l"(after));
        out[threadIdx.x] = (p == 0) + 2 * (q <= p || q + 8 > before) + 4 * (after != q);
    }
    """
    module = compile(source)
    got = np.zeros(32, np.int32)
    module.get_function("growing")(cuda.Out(got), np.int32(9), block=(32, 1, 1))
    want = [sum(k * (7 * i % k) for k in range(1, 10 + lane % 5) for i in range(k)) for lane in range(32)]
    assert list(got) == want
    flags = np.full(32, 9, np.uint64)
    module.get_function("saved")(cuda.Out(flags), block=(32, 1, 1))
    assert not np.any(flags & 6)
