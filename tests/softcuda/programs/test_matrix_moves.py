"""stmatrix and ldmatrix: 8x8 matrices between registers and shared memory, against their definition in NumPy."""

from __future__ import annotations

import numpy as np
import pycuda.driver as cuda
import pytest

SOURCE = r"""
#define REGISTERS_1 "{%1}"
#define REGISTERS_2 "{%1, %2}"
#define REGISTERS_4 "{%1, %2, %3, %4}"
#define KERNEL(name, count, mode)                                                                             \
    extern "C" __global__ void name(const unsigned *in, unsigned short *stored, unsigned *loaded) {           \
        __shared__ __align__(16) unsigned short tile[4 * 64];                                                 \
        int lane = threadIdx.x;                                                                               \
        for (int i = lane; i < 4 * 64; i += 32) tile[i] = 0xdead;                                             \
        __syncwarp();                                                                                         \
        unsigned w[4] = {in[lane], in[32 + lane], in[64 + lane], in[96 + lane]}, r[4] = {0, 0, 0, 0};         \
        unsigned row = (unsigned)__cvta_generic_to_shared(tile + 8 * (lane % (8 * count)));                   \
        asm volatile("stmatrix.sync.aligned.m8n8.x" #count mode ".shared.b16 [%0], " REGISTERS_##count ";"    \
                     ::"r"(row), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");                      \
        __syncwarp();                                                                                         \
        for (int i = lane; i < 4 * 64; i += 32) stored[i] = tile[i];                                          \
        LOAD_##count(mode)                                                                                    \
        for (int k = 0; k < 4; ++k) loaded[32 * k + lane] = r[k];                                             \
    }
#define LOAD(count, mode, registers, address) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #count mode ".shared.b16 " registers ", [" address "];"
#define LOAD_1(mode) LOAD(1, mode, "{%0}", "%1") : "=r"(r[0]) : "r"(row));
#define LOAD_2(mode) LOAD(2, mode, "{%0, %1}", "%2") : "=r"(r[0]), "=r"(r[1]) : "r"(row));
#define LOAD_4(mode) \
    LOAD(4, mode, "{%0, %1, %2, %3}", "%4") : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
KERNEL(plain_1, 1, "") KERNEL(plain_2, 2, "") KERNEL(plain_4, 4, "")
KERNEL(trans_1, 1, ".trans") KERNEL(trans_2, 2, ".trans") KERNEL(trans_4, 4, ".trans")
"""


@pytest.fixture(scope="module")
def module(compile):
    return compile(SOURCE)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("mode", ["plain", "trans"])
def test_matrices_go_to_shared_memory_and_come_back(module, count, mode):
    words = np.random.default_rng(count).integers(0, 2**32, (4, 32), dtype=np.uint32)
    stored, loaded = np.full((4, 8, 8), 0xBAD, np.uint16), np.full((4, 32), 0xBAD, np.uint32)
    kernel = module.get_function(f"{mode}_{count}")
    kernel(cuda.In(words), cuda.InOut(stored), cuda.InOut(loaded), block=(32, 1, 1))

    # Lane l holds two neighbours of row l // 4: read as halves, lane after lane, its word is the matrix row by row.
    matrices = words.view(np.uint16).reshape(4, 8, 8)
    if mode == "trans":
        matrices = matrices.transpose(0, 2, 1)
    assert np.array_equal(stored[:count], matrices[:count])
    assert np.all(stored[count:] == 0xDEAD), "rows that nobody named were written"
    assert np.array_equal(loaded[:count], words[:count]), "what stmatrix wrote, ldmatrix reads back"
    assert np.all(loaded[count:] == 0)
