"""Instructions that only mean something together: carry chains, predicates, matrix fragments."""

from __future__ import annotations

import operator

import numpy as np
import pycuda.driver as cuda
import pytest

rng = np.random.default_rng()


def launch(kernel, outputs: np.ndarray, *inputs: np.ndarray) -> np.ndarray:
    """One warp; `outputs` is poisoned first."""
    outputs.view(np.uint8)[...] = 0xA5
    kernel(cuda.InOut(outputs), *map(cuda.In, inputs), block=(32, 1, 1))
    return outputs


def words(values: list[int]) -> np.ndarray:
    """128-bit integers as rows of four 32-bit words, lowest first."""
    return np.frombuffer(b"".join(v.to_bytes(16, "little") for v in values), np.uint32).reshape(-1, 4).copy()


def wide(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def numbers(bits: int) -> list[int]:
    """32 of them: long runs of ones and zeros, where carries travel far, and random ones."""
    corners = [0, 1, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, 1 << 64, (1 << 96) - 1, (1 << bits) - 1]
    return [v % (1 << bits) for v in corners + [int.from_bytes(rng.bytes(bits // 8), "little") for _ in range(24)]]


@pytest.mark.parametrize(
    ("first", "middle", "last", "f"),
    [
        ("add.cc", "addc.cc", "addc", operator.add),
        ("sub.cc", "subc.cc", "subc", operator.sub),
    ],
)
def test_carry_chain_of_four_words(compile, first, middle, last, f):
    kernel = compile(
        "chain",
        f"""
        __global__ void chain(uint4 *d, const uint4 *a, const uint4 *b)
        {{
            uint4 x = a[threadIdx.x], y = b[threadIdx.x], z;
            asm("{first}.u32 %0, %4, %8;\\n\\t"
                "{middle}.u32 %1, %5, %9;\\n\\t"
                "{middle}.u32 %2, %6, %10;\\n\\t"
                "{last}.u32 %3, %7, %11;"
                : "=&r"(z.x), "=&r"(z.y), "=&r"(z.z), "=r"(z.w)
                : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
            d[threadIdx.x] = z;
        }}
        """,
    )
    a, b = numbers(128), numbers(128)[::-1]
    got = launch(kernel, np.empty((32, 4), np.uint32), words(a), words(b))
    assert wide(got) == [f(x, y) % (1 << 128) for x, y in zip(a, b, strict=True)]


def test_multiplication_with_carries(compile):
    """64 x 64 -> 128 bits of 32-bit multiply-adds, as big-number libraries write it."""
    kernel = compile(
        "multiply",
        """
        __global__ void multiply(uint4 *d, const uint2 *a, const uint2 *b)
        {
            uint2 x = a[threadIdx.x], y = b[threadIdx.x];
            uint4 z;
            asm("mul.lo.u32     %0, %4, %6;\\n\\t"
                "mul.hi.u32     %1, %4, %6;\\n\\t"
                "mad.lo.cc.u32  %1, %4, %7, %1;\\n\\t"
                "madc.hi.u32    %2, %4, %7, 0;\\n\\t"
                "mad.lo.cc.u32  %1, %5, %6, %1;\\n\\t"
                "madc.hi.cc.u32 %2, %5, %6, %2;\\n\\t"
                "addc.u32       %3, 0, 0;\\n\\t"
                "mad.lo.cc.u32  %2, %5, %7, %2;\\n\\t"
                "madc.hi.u32    %3, %5, %7, %3;"
                : "=&r"(z.x), "=&r"(z.y), "=&r"(z.z), "=&r"(z.w)
                : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
            d[threadIdx.x] = z;
        }
        """,
    )
    a, b = numbers(64), numbers(64)[::-1]
    pack = [words(values)[:, :2].copy() for values in (a, b)]
    got = launch(kernel, np.empty((32, 4), np.uint32), *pack)
    assert wide(got) == [x * y for x, y in zip(a, b, strict=True)]


def test_logic_of_predicates(compile):
    kernel = compile(
        "logic",
        """
        __global__ void logic(int *d, const int *a, const int *b)
        {
            int r;
            asm("{\\n\\t"
                ".reg .pred p, q, t;\\n\\t"
                ".reg .b32 s;\\n\\t"
                "setp.ne.s32 p, %1, 0;\\n\\t"
                "setp.ne.s32 q, %2, 0;\\n\\t"
                "and.pred t, p, q;\\n\\t"
                "selp.b32 %0, 1, 0, t;\\n\\t"
                "or.pred t, p, q;\\n\\t"
                "selp.b32 s, 2, 0, t;\\n\\t"
                "or.b32 %0, %0, s;\\n\\t"
                "xor.pred t, p, q;\\n\\t"
                "selp.b32 s, 4, 0, t;\\n\\t"
                "or.b32 %0, %0, s;\\n\\t"
                "not.pred t, p;\\n\\t"
                "@t or.b32 %0, %0, 8;\\n\\t"
                "mov.pred t, q;\\n\\t"
                "@!t or.b32 %0, %0, 16;\\n\\t"
                "}" : "=&r"(r) : "r"(a[threadIdx.x]), "r"(b[threadIdx.x]));
            d[threadIdx.x] = r;
        }
        """,
    )
    a, b = (rng.integers(0, 2, 32, np.int32) for _ in range(2))
    got = launch(kernel, np.empty(32, np.int32), a, b)
    assert np.array_equal(got, (a & b) + 2 * (a | b) + 4 * (a ^ b) + 8 * (1 - a) + 16 * (1 - b))


# Fragments as the PTX manual draws them: lane = 4 * group + member; `per` elements lie in a 32-bit register.
LANE = np.arange(32)
GROUP, MEMBER = LANE // 4, LANE % 4


def fragments(matrix: np.ndarray, per: int, *, of_a: bool) -> np.ndarray:
    """A (16 x K) or B (K x 8), dealt out: 32 lanes x registers, as 32-bit words."""
    k = matrix.shape[1 if of_a else 0]
    registers = []
    for half in range(0, k, 4 * per):
        for rows in (0, 8) if of_a else (0,):
            columns = [half + per * MEMBER + e for e in range(per)]
            elements = [matrix[GROUP + rows, c] if of_a else matrix[c, GROUP] for c in columns]
            registers.append(np.stack(elements, 1).copy().view(np.uint32)[:, 0])
    return np.stack(registers, 1).copy()


def accumulator(matrix: np.ndarray) -> np.ndarray:
    """C or D (16 x 8): 32 lanes x 4."""
    return np.stack([matrix[GROUP + 8 * (i // 2), 2 * MEMBER + i % 2] for i in range(4)], 1).copy()


@pytest.mark.parametrize(
    ("shape", "element", "dtype", "result"),
    [
        ("m16n8k8", "f16", np.float16, "f32"),
        ("m16n8k16", "f16", np.float16, "f32"),
        ("m16n8k16", "s8", np.int8, "s32"),
        ("m16n8k32", "s8", np.int8, "s32"),
        ("m16n8k32", "u8", np.uint8, "s32"),
        ("m16n8k4", "tf32", np.float32, "f32"),
        ("m16n8k8", "tf32", np.float32, "f32"),
    ],
)
def test_matrix_multiplication(compile, shape, element, dtype, result):
    k, per = int(shape.split("k")[1]), 4 // np.dtype(dtype).itemsize
    a_count, b_count = k // (2 * per), k // (4 * per)
    d = ", ".join(f"%{i}" for i in range(4))
    a = ", ".join(f"%{4 + i}" for i in range(a_count))
    b = ", ".join(f"%{4 + a_count + i}" for i in range(b_count))
    kind, letter = ("float", "f") if result == "f32" else ("int", "r")
    inputs = [f'"r"(a[{a_count} * l + {i}])' for i in range(a_count)]
    inputs += [f'"r"(b[{b_count} * l + {i}])' for i in range(b_count)]
    outputs = [f'"+{letter}"(x[{i}])' for i in range(4)]
    kernel = compile(
        "multiply",
        f"""
        __global__ void multiply({kind} *d, const unsigned *a, const unsigned *b, const {kind} *c)
        {{
            int l = threadIdx.x;
            {kind} x[4] = {{c[4 * l], c[4 * l + 1], c[4 * l + 2], c[4 * l + 3]}};
            asm("mma.sync.aligned.{shape}.row.col.{result}.{element}.{element}.{result} "
                "{{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};"
                : {", ".join(outputs)} : {", ".join(inputs)});
            for (int i = 0; i < 4; i++)
                d[4 * l + i] = x[i];
        }}
        """,
    )
    low = 0 if element == "u8" else -100  # small whole numbers: every product and sum is exact in any order
    high = 101 if result == "s32" else 50
    A, B = (rng.integers(low, high, size).astype(dtype) for size in ((16, k), (k, 8)))
    accumulated = np.float32 if result == "f32" else np.int32
    C = rng.integers(-1000, 1000, (16, 8)).astype(accumulated)
    got = launch(
        kernel,
        np.empty((32, 4), accumulated),
        fragments(A, per, of_a=True),
        fragments(B, per, of_a=False),
        accumulator(C),
    )
    want = A.astype(np.int64) @ B.astype(np.int64) + C.astype(np.int64)
    assert np.array_equal(got, accumulator(want))
