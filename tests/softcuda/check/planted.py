"""Kernels with one defect each, planted, and beside every one a clean kernel that looks like it.

    python planted.py --list            names, and the kind of finding that is due ("clean": none)
    python planted.py NAME [NAME ...]   launches these, once each; so that any sanitizer can be run on it

A line that ends in `//!` is one that a finding must name.  In the kernels `a` holds 0, 1, 2 … and `b` zeros, `n` of
each; `t` is the thread in the block, `i` the one in the grid.  `planted.py` needs nothing but PyCUDA.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import dedent

N = 4096


@dataclass(frozen=True)
class Case:
    name: str
    kind: str  # "" for a clean one
    body: str
    grid: int = 1
    block: int = 64
    shared: int = 0  # bytes of dynamic shared memory
    before: str = ""  # device code in front of the kernel
    also: tuple[str, ...] = ()  # kinds that come with the defect
    fresh: bool = False  # b is allocated and not written
    fails: bool = False  # the launch ends with an error
    cooperative: bool = False
    host: Callable[..., None] | None = field(default=None, compare=False)  # runs instead of a plain launch

    @property
    def source(self) -> str:
        body = dedent(self.body).strip("\n")
        # Line 1 of the body is line 1 of the file, whatever stands around it.
        head = f'{self.before}\nextern "C" __global__ void {self.name}(int* a, int* b, int n)\n{{\n'
        head += "    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; (void)t; (void)i;\n"
        return f'{head}#line 1 "{self.name}.cu"\n{body}\n}}\n'

    @property
    def lines(self) -> list[int]:
        """The marked lines."""
        return [k for k, line in enumerate(dedent(self.body).strip("\n").splitlines(), 1) if line.endswith("//!")]


CASES: dict[str, Case] = {}


def pair(name: str, kind: str, defect: str, clean: str, clean_with: dict | None = None, **more: object) -> None:
    CASES[name] = Case(name, kind, defect, **more)  # type: ignore[arg-type]
    kept = {key: value for key, value in more.items() if key not in ("also", "fails")}
    CASES[f"{name}_clean"] = Case(f"{name}_clean", "", clean, **(kept | (clean_with or {})))  # type: ignore[arg-type]


# --- races in shared memory -------------------------------------------------------------------------------------------

pair("shared_reverse", "race", """
    __shared__ int s[64];
    s[t] = a[i];  //!
    b[i] = s[63 - t];  //!
""", """
    __shared__ int s[64];
    s[t] = a[i];
    __syncthreads();
    b[i] = s[63 - t];
""")  # fmt: skip
pair("shared_tile_reused", "race", """
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; k += 64) {
        s[t] = a[k + t];  //!
        __syncthreads();
        sum += s[(t + 37) % 64];  //!
    }
    b[i] = sum;
""", """
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; k += 64) {
        s[t] = a[k + t];
        __syncthreads();
        sum += s[(t + 37) % 64];
        __syncthreads();
    }
    b[i] = sum;
""", also=("warp-synchronous",))  # fmt: skip
pair("shared_tree", "race", """
    __shared__ int s[256];
    s[t] = a[i];
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1)
        if (t < d) s[t] += s[t + d];  //!
    if (t == 0) b[blockIdx.x] = s[0];
""", """
    __shared__ int s[256];
    s[t] = a[i];
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) b[blockIdx.x] = s[0];
""", block=256, grid=2, also=("warp-synchronous",))  # fmt: skip
pair("shared_scan", "race", """
    __shared__ int s[128];
    s[t] = a[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d) s[t] += s[t - d];  //!
        __syncthreads();
    }
    b[i] = s[t];
""", """
    __shared__ int s[2][128];
    int from = 0;
    s[0][t] = a[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
    b[i] = s[from][t];
""", block=128, also=("warp-synchronous",))  # fmt: skip
pair("shared_histogram", "race", """
    __shared__ int bins[64];
    bins[t] = 0;
    __syncthreads();
    bins[a[i] % 7] += 1;  //!
    __syncthreads();
    b[i] = bins[t];
""", """
    __shared__ int bins[64];
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[a[i] % 7], 1);
    __syncthreads();
    b[i] = bins[t];
""", also=("warp-synchronous",))  # fmt: skip
pair("shared_histogram_early", "race", """
    __shared__ int bins[64];
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[(a[i] * 5) % 64], 1);  //!
    b[i] = bins[t];  //!
""", """
    __shared__ int bins[64];
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[(a[i] * 5) % 64], 1);
    __syncthreads();
    b[i] = bins[t];
""", also=("warp-synchronous",))  # fmt: skip
pair("shared_zeroed_late", "race", """
    __shared__ int count;
    if (t == 0) count = 0;  //!
    atomicAdd(&count, a[i] & 1);  //!
    __syncthreads();
    b[i] = count;
""", """
    __shared__ int count;
    if (t == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, a[i] & 1);
    __syncthreads();
    b[i] = count;
""", also=("warp-synchronous",))  # fmt: skip
pair("shared_broadcast", "race", """
    __shared__ int first;
    if (t == 0) first = a[0];  //!
    b[i] = a[i] - first;  //!
""", """
    __shared__ int first;
    if (t == 0) first = a[0];
    __syncthreads();
    b[i] = a[i] - first;
""", also=("warp-synchronous", "uninitialised"))  # fmt: skip
pair("shared_everybody_writes", "race", """
    __shared__ int last;
    last = t;  //!
    __syncthreads();
    b[i] = last;
""", """
    __shared__ int last;
    last = n;
    __syncthreads();
    b[i] = last;
""")  # fmt: skip
pair("shared_bytes", "race", """
    __shared__ unsigned char s[128];
    s[t] = a[i];  //!
    b[i] = s[(t + 64) % 128];  //!
""", """
    __shared__ unsigned char s[128];
    s[t] = a[i];
    __syncthreads();
    b[i] = s[(t + 64) % 128];
""", block=128)  # fmt: skip
pair("shared_half_of_the_block", "race", """
    __shared__ int s[128];
    s[t] = a[i];  //!
    if (t < 64) asm volatile("bar.sync 1, 64;");
    else asm volatile("bar.sync 2, 64;");
    b[i] = s[127 - t];  //!
""", """
    __shared__ int s[128];
    s[t] = a[i];
    if (t < 64) asm volatile("bar.sync 1, 64;");
    else asm volatile("bar.sync 2, 64;");
    b[i] = s[t ^ 63];
""", block=128)  # fmt: skip
pair("shared_producer", "race", """
    __shared__ int s[64];
    if (t < 64) {
        s[t] = a[i];  //!
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        s[t] = a[i] + 1;  //!
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        b[i] = s[t - 64];  //!
    }
""", """
    __shared__ int s[64];
    if (t < 64) {
        s[t] = a[i];
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        b[i] = s[t - 64];
    }
""", block=128)  # fmt: skip
pair("shared_dynamic", "race", """
    extern __shared__ int s[];
    s[blockDim.x - 1 - t] = a[i];  //!
    b[i] = s[t];  //!
""", """
    extern __shared__ int s[];
    s[blockDim.x - 1 - t] = a[i];
    __syncthreads();
    b[i] = s[t];
""", shared=256)  # fmt: skip
pair("shared_transpose", "race", """
    __shared__ float tile[16][17];
    int x = t % 16, y = t / 16;
    tile[y][x] = a[y * 16 + x];  //!
    b[y * 16 + x] = tile[x][y];  //!
""", """
    __shared__ float tile[16][17];
    int x = t % 16, y = t / 16;
    tile[y][x] = a[y * 16 + x];
    __syncthreads();
    b[y * 16 + x] = tile[x][y];
""", block=256, also=("uninitialised", "warp-synchronous"))  # fmt: skip
pair("shared_vectors", "race", """
    __shared__ int4 s[64];
    s[t] = make_int4(t, t, t, t);  //!
    b[i] = s[63 - t].y;  //!
""", """
    __shared__ int4 s[64];
    s[t] = make_int4(t, t, t, t);
    __syncthreads();
    b[i] = s[63 - t].y;
""")  # fmt: skip

# --- races in global memory -------------------------------------------------------------------------------------------

pair("global_shift", "race", """
    if (i + 1 < n) a[i] = a[i + 1];  //!
""", """
    if (i + 1 < n) b[i] = a[i + 1];
""", grid=4, also=("warp-synchronous",))  # fmt: skip
pair("global_counter", "race", """
    if (t == 0) b[0] += a[i];  //!
""", """
    if (t == 0) atomicAdd(&b[0], a[i]);
""", grid=8)  # fmt: skip
pair("global_overlap", "race", """
    b[blockIdx.x * 32 + t] = i;  //!
""", """
    b[blockIdx.x * 64 + t] = i;
""", grid=4)  # fmt: skip
pair("global_two_steps", "race", """
    b[i] = a[i] * 2;  //!
    __syncthreads();
    int other = (blockIdx.x + 1) % gridDim.x;
    a[i] += b[other * blockDim.x + t];  //!
""", """
    b[i] = a[i] * 2;
    __syncthreads();
    a[i] += b[blockIdx.x * blockDim.x + (t + 1) % blockDim.x];
""", grid=4)  # fmt: skip
pair("global_in_the_block", "race", """
    b[i] = a[i];  //!
    a[i] = b[i ^ 32];  //!
""", """
    b[i] = a[i];
    __syncthreads();
    a[i] = b[i ^ 32];
""", grid=2)  # fmt: skip
pair("global_last_block", "race", """
    __shared__ bool last;
    if (t == 0) {
        b[blockIdx.x + 1] = a[i];  //!
        last = atomicInc((unsigned*)b, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t < gridDim.x) a[t] = b[t + 1];  //!
""", """
    __shared__ bool last;
    if (t == 0) {
        b[blockIdx.x + 1] = a[i];
        __threadfence();
        last = atomicInc((unsigned*)b, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t < gridDim.x) b[n - 1 - t] = b[t + 1];
""", grid=16)  # fmt: skip
pair("global_flag", "race", """
    if (t != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 42;  //!
        b[0] = 1;  //!
    } else if (b[0] == 1) {  //!
        b[2] = b[1];  //!
    }
""", """
    volatile int* flag = b;
    if (t != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 42;
        __threadfence();
        *flag = 1;
    } else if (blockIdx.x == 1) {
        while (*flag != 1) {}
        __threadfence();
        b[2] = b[1];
    }
""", grid=2)  # fmt: skip
pair("global_lock", "race", """
    if (t != 0) return;
    b[1] += 1;  //!
    while (atomicCAS(&b[0], 0, 1) != 0) {}
    __threadfence();
    __threadfence();
    atomicExch(&b[0], 0);
""", """
    if (t != 0) return;
    while (atomicCAS(&b[0], 0, 1) != 0) {}
    __threadfence();
    b[1] += 1;
    __threadfence();
    atomicExch(&b[0], 0);
""", grid=8)  # fmt: skip
pair("global_grid_sync", "race", """
    b[i] = a[i];  //!
    __syncthreads();
    a[i] = b[(i + blockDim.x) % (gridDim.x * blockDim.x)];  //!
""", """
    b[i] = a[i];
    cooperative_groups::this_grid().sync();
    a[i] = b[(i + blockDim.x) % (gridDim.x * blockDim.x)];
""", grid=4, before="#include <cooperative_groups.h>", cooperative=True)  # fmt: skip
pair("global_max", "race", """
    if (a[i] > b[0]) b[0] = a[i];  //!
""", """
    atomicMax(&b[0], a[i]);
""", grid=4, also=("warp-synchronous",))  # fmt: skip
pair("global_device_variable", "race", """
    if (t == 0) total += a[i];  //!
""", """
    if (t == 0) atomicAdd(&total_, a[i]);
""", {"before": "__device__ int total_;"}, grid=4, before="__device__ int total;")  # fmt: skip
pair("global_compare_and_swap", "race", """
    if (b[0] < a[i]) atomicExch(&b[0], a[i]);  //!
""", """
    int old = b[0], seen;
    do {
        seen = old;
        old = atomicCAS(&b[0], seen, max(seen, a[i]));
    } while (old != seen);
""", grid=4, also=("warp-synchronous",))  # fmt: skip
pair("global_lookback", "race", """
    volatile int* done = b + 1024;
    if (t != 0) return;
    if (blockIdx.x) while (!done[blockIdx.x - 1]) {}
    b[blockIdx.x] = (blockIdx.x ? b[blockIdx.x - 1] : 0) + a[i];  //!
    done[blockIdx.x] = 1;
""", """
    volatile int* done = b + 1024;
    if (t != 0) return;
    if (blockIdx.x) while (!done[blockIdx.x - 1]) {}
    __threadfence();
    b[blockIdx.x] = (blockIdx.x ? b[blockIdx.x - 1] : 0) + a[i];
    __threadfence();
    done[blockIdx.x] = 1;
""", grid=8)  # fmt: skip

# --- lanes taken to run in step ---------------------------------------------------------------------------------------

pair("warp_volatile_tail", "warp-synchronous", """
    __shared__ int s[64];
    volatile int* v = s;
    s[t] = a[i];
    __syncthreads();
    if (t < 32) {
        v[t] += v[t + 32];  //!
        v[t] += v[t + 16];  //!
        v[t] += v[t + 8];  //!
        v[t] += v[t + 4];  //!
        v[t] += v[t + 2];  //!
        v[t] += v[t + 1];  //!
    }
    if (t == 0) b[0] = v[0];
""", """
    __shared__ int s[64];
    s[t] = a[i];
    __syncthreads();
    if (t < 32) {
        int sum = s[t] + s[t + 32];
        for (int d = 16; d > 0; d /= 2) {
            __syncwarp();
            s[t] = sum;
            __syncwarp();
            sum += s[(t + d) % 32];
        }
        if (t == 0) b[0] = sum;
    }
""")  # fmt: skip
pair("warp_exchange", "warp-synchronous", """
    __shared__ int s[64];
    s[t] = a[i];  //!
    b[i] = s[t ^ 1];  //!
""", """
    __shared__ int s[64];
    s[t] = a[i];
    __syncwarp();
    b[i] = s[t ^ 1];
""")  # fmt: skip
pair("warp_leader", "warp-synchronous", """
    __shared__ int base[2];
    if (t % 32 == 0) base[t / 32] = atomicAdd(b, 32);  //!
    b[64 + i] = base[t / 32] + t % 32;  //!
""", """
    __shared__ int base[2];
    if (t % 32 == 0) base[t / 32] = atomicAdd(b, 32);
    __syncwarp();
    b[64 + i] = base[t / 32] + t % 32;
""", also=("uninitialised",))  # fmt: skip
pair("warp_half_mask", "warp-synchronous", """
    __shared__ int s[32];
    s[t] = a[i];  //!
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    b[i] = s[t ^ 16];  //!
""", """
    __shared__ int s[32];
    s[t] = a[i];
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    b[i] = s[t ^ 8];
""", block=32)  # fmt: skip
pair("warp_branches", "warp-synchronous", """
    __shared__ int s[32];
    if (t < 16) s[t] = a[i];  //!
    else s[t] = s[t - 16];  //!
    b[i] = s[t];
""", """
    __shared__ int s[32];
    if (t < 16) s[t] = a[i];
    __syncwarp();
    if (t >= 16) s[t] = s[t - 16];
    b[i] = s[t];
""", block=32, also=("uninitialised",))  # fmt: skip
pair("warp_global", "warp-synchronous", """
    b[i] = a[i];  //!
    a[i] = b[i ^ 3];  //!
""", """
    b[i] = a[i];
    __syncwarp();
    a[i] = b[i ^ 3];
""")  # fmt: skip
pair("warp_scan", "warp-synchronous", """
    __shared__ int s[32];
    s[t] = a[i];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int before = t >= d ? s[t - d] : 0;  //!
        s[t] += before;  //!
        __syncwarp();
    }
    b[i] = s[t];
""", """
    __shared__ int s[32];
    s[t] = a[i];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int before = t >= d ? s[t - d] : 0;
        __syncwarp();
        s[t] += before;
        __syncwarp();
    }
    b[i] = s[t];
""", block=32)  # fmt: skip

# --- memory that holds nothing ----------------------------------------------------------------------------------------

pair("empty_input", "uninitialised", """
    a[i] = b[i];  //!
""", """
    b[i] = a[i];
""", fresh=True)  # fmt: skip
pair("empty_accumulator", "uninitialised", """
    b[i] += a[i];  //!
""", """
    b[i] = 0;
    b[i] += a[i];
""", fresh=True)  # fmt: skip
pair("empty_atomic", "uninitialised", """
    atomicAdd(&b[0], a[i]);  //!
""", """
    if (t == 0) b[0] = 0;
    __syncthreads();
    atomicAdd(&b[0], a[i]);
""", fresh=True)  # fmt: skip
pair("empty_end", "uninitialised", """
    if (t < 63) b[i] = a[i];
    __syncthreads();
    a[i] = b[63 - t];  //!
""", """
    b[i] = t < 63 ? a[i] : 0;
    __syncthreads();
    a[i] = b[63 - t];
""", fresh=True)  # fmt: skip
pair("empty_halo", "uninitialised", """
    __shared__ int s[66];
    s[t + 1] = a[i];
    __syncthreads();
    b[i] = s[t] + s[t + 1]  //!
         + s[t + 2];  //!
""", """
    __shared__ int s[66];
    s[t + 1] = a[i];
    if (t == 0) s[0] = 0, s[65] = 0;
    __syncthreads();
    b[i] = s[t] + s[t + 1] + s[t + 2];
""")  # fmt: skip
pair("empty_sum", "uninitialised", """
    __shared__ int s[64];
    s[t] += a[i];  //!
    b[i] = s[t];
""", """
    __shared__ int s[64];
    s[t] = 0;
    s[t] += a[i];
    b[i] = s[t];
""")  # fmt: skip
pair("empty_bins", "uninitialised", """
    __shared__ int bins[16];
    atomicAdd(&bins[a[i] % 16], 1);  //!
    __syncthreads();
    if (t < 16) b[t] = bins[t];
""", """
    __shared__ int bins[16];
    if (t < 16) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[a[i] % 16], 1);
    __syncthreads();
    if (t < 16) b[t] = bins[t];
""")  # fmt: skip

# --- addresses --------------------------------------------------------------------------------------------------------

pair("beyond_the_end", "out-of-bounds", """
    b[i + n - 63] = a[i];  //!
""", """
    if (i + n - 63 < n) b[i + n - 63] = a[i];
""", fails=True)  # fmt: skip
pair("before_the_start", "out-of-bounds", """
    b[i] = a[i - 1];  //!
""", """
    b[i] = i > 0 ? a[i - 1] : 0;
""", fails=True)  # fmt: skip
pair("null_pointer", "out-of-bounds", """
    int* p = (int*)(long long)(n - 4096);
    p[t] = 1;  //!
""", """
    int* p = n == 4096 ? a : nullptr;
    p[t] = 1;
""", fails=True)  # fmt: skip
pair("beyond_shared", "out-of-bounds", """
    extern __shared__ int s[];
    s[t * 2] = a[i];  //!
    __syncthreads();
    b[i] = s[t];
""", """
    extern __shared__ int s[];
    s[t] = a[i];
    __syncthreads();
    b[i] = s[t];
""", shared=256, fails=True)  # fmt: skip
pair("too_many_threads", "out-of-bounds", """
    b[i] = a[i];  //!
""", """
    if (i < n) b[i] = a[i];
""", grid=65, fails=True)  # fmt: skip
pair("odd_vector", "misaligned", """
    *(int4*)(b + t * 4) = *(int4*)(a + 1 + t * 4);  //!
""", """
    *(int4*)(b + t * 4) = *(int4*)(a + t * 4);
""", fails=True)  # fmt: skip
pair("odd_bytes", "misaligned", """
    b[i] = *(int*)((char*)a + 2 + t * 4);  //!
""", """
    b[i] = *(int*)((char*)a + 4 + t * 4);
""", fails=True)  # fmt: skip
pair("odd_shared", "misaligned", """
    __shared__ int s[130];
    s[t] = s[t + 64] = a[i];
    __syncthreads();
    long long v = *(long long*)&s[t];  //!
    b[i] = (int)v;
""", """
    __shared__ int s[130];
    s[t] = s[t + 64] = a[i];
    __syncthreads();
    long long v = *(long long*)&s[t & ~1];
    b[i] = (int)v;
""", fails=True)  # fmt: skip

# --- barriers ---------------------------------------------------------------------------------------------------------

pair("barrier_after_return", "barrier", """
    if (t >= 60) return;
    b[i] = a[i];
    __syncthreads();  //!
    a[i] = b[i - t];
""", """
    if (t < 60) b[i] = a[i];
    __syncthreads();
    if (t < 60) a[i] = b[i - t];
""")  # fmt: skip
pair("barrier_in_a_branch", "barrier", """
    if (t < 32) {
        b[i] = a[i];
        __syncthreads();  //!
    }
""", """
    if (t < 32) b[i] = a[i];
    __syncthreads();
""")  # fmt: skip
pair("barrier_in_both_branches", "barrier", """
    if (t < 32) {
        b[i] = a[i];
        __syncthreads();  //!
    } else {
        b[i] = 2 * a[i];
        __syncthreads();  //!
    }
""", """
    b[i] = t < 32 ? a[i] : 2 * a[i];
    __syncthreads();
""")  # fmt: skip
pair("barrier_in_a_warp", "barrier", """
    if (t % 2) {
        b[i] = a[i];
        __syncthreads();  //!
    } else {
        b[i] = 3 * a[i];
        __syncthreads();  //!
    }
""", """
    b[i] = t % 2 ? a[i] : 3 * a[i];
    __syncthreads();
""")  # fmt: skip
pair("barrier_in_a_loop", "barrier", """
    for (int k = 0; k < 2 + t / 32; ++k) {
        b[i] += a[k];
        __syncthreads();  //!
    }
""", """
    for (int k = 0; k < 3; ++k) {
        if (k < 2 + t / 32) b[i] += a[k];
        __syncthreads();
    }
""")  # fmt: skip
pair("barrier_nobody_completes", "barrier", """
    if (t < 32) asm volatile("bar.sync 1, 64;");  //!
    else if (t < 64) asm volatile("bar.sync 2, 64;");
    b[i] = a[i];
""", """
    if (t < 32) asm volatile("bar.sync 1, 32;");
    b[i] = a[i];
""", fails=True, block=128)  # fmt: skip
pair("barrier_count", "barrier", """
    if (i < 100) b[i] = __syncthreads_count(a[i] > 7);  //!
""", """
    int count = __syncthreads_count(a[i] > 7);
    if (i < 100) b[i] = count;
""", block=128)  # fmt: skip

# --- lanes that take no part ------------------------------------------------------------------------------------------

pair("shuffle_half", "inactive-lane", """
    int v = a[i];
    if (t < 16) v += __shfl_xor_sync(0x0000ffff, v, 16);  //!
    b[i] = v;
""", """
    int v = a[i];
    if (t < 16) v += __shfl_xor_sync(0x0000ffff, v, 8);
    b[i] = v;
""", block=32)  # fmt: skip
pair("shuffle_partial_warp", "inactive-lane", """
    int v = a[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);  //!
    if (t % 32 == 0) b[t / 32] = v;
""", """
    int v = a[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (t % 32 == 0) b[t / 32] = v;
""", {"block": 64}, block=40)  # fmt: skip
pair("shuffle_after_return", "inactive-lane", """
    if (t >= 20) return;
    int v = a[i];
    v += __shfl_down_sync(0xffffffff, v, 8);  //!
    b[i] = v;
""", """
    int v = t < 20 ? a[i] : 0;
    v += __shfl_down_sync(0xffffffff, v, 8);
    if (t < 20) b[i] = v;
""", block=32)  # fmt: skip
pair("shuffle_from_leader", "inactive-lane", """
    int v = a[i];
    if (t > 0) v = __shfl_sync(0xfffffffe, v, 0);  //!
    b[i] = v;
""", """
    int v = a[i];
    v = __shfl_sync(0xffffffff, v, 0);
    b[i] = v;
""", block=32)  # fmt: skip
pair("shuffle_ballot_tail", "inactive-lane", """
    unsigned mask = __ballot_sync(0xffffffff, t < 8);
    int v = a[i];
    if (t < 8)
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(mask, v, d);  //!
    if (t == 0) b[0] = v;
""", """
    unsigned mask = __ballot_sync(0xffffffff, t < 8);
    int v = a[i];
    if (t < 8)
        for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(mask, v, d, 8);
    if (t == 0) b[0] = v;
""", block=32)  # fmt: skip
pair("vote_after_return", "inactive-lane", """
    if (t == 5) return;
    b[i] = __ballot_sync(0xffffffff, a[i] & 1);  //!
""", """
    unsigned votes = __ballot_sync(0xffffffff, a[i] & 1);
    if (t == 5) return;
    b[i] = votes;
""", block=32)  # fmt: skip

# --- asynchronous copies ----------------------------------------------------------------------------------------------

PIPELINE = "#include <cuda_pipeline.h>"
pair("copy_not_waited_for", "async-copy", """
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[t], &a[i], 4);  //!
    __pipeline_commit();
    __syncthreads();
    b[i] = s[63 - t];  //!
""", """
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[t], &a[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[i] = s[63 - t];
""", before=PIPELINE)  # fmt: skip
pair("copy_one_too_few", "async-copy", """
    __shared__ int s[2][64];
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&s[k][t], &a[k * 64 + t], 4);  //!
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    b[i] = s[1][63 - t];  //!
""", """
    __shared__ int s[2][64];
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&s[k][t], &a[k * 64 + t], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    b[i] = s[0][63 - t];
""", before=PIPELINE)  # fmt: skip
pair("copy_no_barrier", "race", """
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[t], &a[i], 4);  //!
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[i] = s[63 - t];  //!
""", """
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[t], &a[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[i] = s[t];
""", before=PIPELINE, also=("async-copy", "uninitialised"))  # fmt: skip

# --- what is never freed ----------------------------------------------------------------------------------------------

KEPT: list[object] = []


def allocate_and_forget(launch: Callable[[], None]) -> None:
    import ctypes

    launch()
    address = ctypes.c_uint64()
    ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1000))


def allocate_and_free(launch: Callable[[], None]) -> None:
    import ctypes

    launch()
    cuda, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1000))
    cuda.cuMemFree_v2(address)


def keep_in_a_module(launch: Callable[[], None]) -> None:
    """Python frees what is still alive when the program ends: no leak."""
    import pycuda.driver as cuda

    launch()
    KEPT.append(cuda.mem_alloc(1000))


def pitched_and_forgotten(launch: Callable[[], None]) -> None:
    import ctypes

    launch()
    address, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    ctypes.CDLL("libcuda.so.1").cuMemAllocPitch_v2(ctypes.byref(address), ctypes.byref(pitch), ctypes.c_size_t(100),
                                                   ctypes.c_size_t(10), 4)  # fmt: skip


NOTHING = "b[i] = a[i];"
pair("forgotten", "leak", NOTHING, NOTHING, {"host": allocate_and_free}, host=allocate_and_forget)
pair("forgotten_pitched", "leak", NOTHING, NOTHING, {"host": keep_in_a_module}, host=pitched_and_forgotten)


# --- running them -----------------------------------------------------------------------------------------------------


def launch_cooperatively(case: Case, image: bytes, arguments: list[object]) -> None:
    """PyCUDA launches nothing cooperatively; the driver's own functions do."""
    import ctypes

    driver = ctypes.CDLL("libcuda.so.1")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(value) for value in arguments))  # type: ignore[arg-type]
    for function, *values in (
        ("cuModuleLoadData", ctypes.byref(module), image + b"\0"),
        ("cuModuleGetFunction", ctypes.byref(kernel), module, case.name.encode()),
        ("cuLaunchCooperativeKernel", kernel, case.grid, 1, 1, case.block, 1, 1, case.shared, None, pointers),
        ("cuCtxSynchronize",),
        ("cuModuleUnload", module),
    ):
        if error := getattr(driver, function)(*values):
            raise RuntimeError(f"{function} answered error {error}")


def run(names: list[str]) -> None:
    """Each once, in one context."""
    import ctypes

    import numpy as np
    import pycuda.autoinit  # noqa: F401
    import pycuda.driver as cuda
    from pycuda.compiler import compile

    cases = [CASES[name] for name in names]
    headers = sorted({case.before for case in cases if case.before.startswith("#include")})
    text = "\n".join([*headers, *(case.source for case in cases)])
    image = compile(text, no_extern_c=True, options=["-lineinfo"])
    module = cuda.module_from_buffer(image)
    for case in cases:
        a, b = cuda.mem_alloc(4 * N), cuda.mem_alloc(4 * N)
        cuda.memcpy_htod(a, np.arange(N, dtype=np.int32))
        if not case.fresh:
            cuda.memset_d32(b, 0, N)

        def launch(case: Case = case, a: cuda.DeviceAllocation = a, b: cuda.DeviceAllocation = b) -> None:
            if case.cooperative:
                values = [ctypes.c_uint64(int(a)), ctypes.c_uint64(int(b)), ctypes.c_int(N)]
                return launch_cooperatively(case, image, values)
            kernel = module.get_function(case.name)
            kernel(a, b, np.int32(N), grid=(case.grid, 1), block=(case.block, 1, 1), shared=case.shared)
            return cuda.Context.synchronize()

        case.host(launch) if case.host else launch()
        print(case.name, "ran", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for each in CASES.values():
            print(each.name, each.kind or "clean")
    elif sys.argv[1:] and all(name in CASES for name in sys.argv[1:]):
        run(sys.argv[1:])
    else:
        sys.exit("planted.py --list, or the names of kernels")
