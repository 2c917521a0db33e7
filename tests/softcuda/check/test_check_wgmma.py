"""`softcuda check` on wgmma: registers that a product owns, shared memory that it reads, and the fences in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = r'''
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda import compiler

HEAD = r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ u64 describe(const void* p) { return (u64)(place(p) >> 4) | 8ull << 16 | 16ull << 32; }
__device__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("{ .reg .pred p; setp.eq.b32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__device__ void multiply(float (&d)[4], unsigned (&a)[4], u64 b) {
    asm volatile("{ .reg .pred p; setp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#define ARRIVE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
#define PROXY asm volatile("fence.proxy.async;" ::: "memory")
#define KEEP(d) asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory")
extern "C" __global__ void k(float* out, const float* in) {
    __shared__ __align__(128) __half a[2][64 * 16], b[2][8 * 16];
    int t = threadIdx.x, i = t % 128;
    float d[4] = {in[i], in[i], in[i], in[i]}, e[4] = {in[i], in[i], in[i], in[i]};
    u64 pa = describe(a[0]), pb = describe(b[0]), qa = describe(a[1]), qb = describe(b[1]);
    (void)pa, (void)pb, (void)qa, (void)qb;
    auto fill = [&](int s, float x) {
        for (int n = i; n < 64 * 16; n += 128) a[s][n] = __float2half(x + n % 7);
        if (i < 8 * 16) b[s][i] = __float2half(x - i % 5);
    };
"""
TAIL = r"""
    for (int n = 0; n < 4; ++n) out[4 * t + n] = d[n] + e[n];
}
"""
name, text, block = sys.argv[1:]
source = HEAD + f'#line 1 "{name}.cu"\n' + text + TAIL
image = compiler.compile(source, options=["-lineinfo", "-std=c++17"], arch="sm_90a", no_extern_c=True)
kernel = cuda.module_from_buffer(image).get_function("k")
out, given = cuda.mem_alloc(16 * int(block)), cuda.to_device(np.ones(128, np.float32))
kernel(out, given, block=(int(block), 1, 1))
cuda.Context.synchronize()
out.free(), given.free()
'''

START = "fill(0, 1); PROXY; __syncthreads();\n"
# What is wrong, the kind of the finding, and the body: lines that end in //! are those that it names.
DEFECTS = {
    "no_proxy_fence": (
        "proxy-fence",
        """b[0][i] = __float2half(1); //!
fill(0, 1); PROXY;
b[0][i] = __float2half(1); //!
__syncthreads();
ARRIVE;
multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d); //!""",
    ),
    "read_before_the_wait": (
        "wgmma-register",
        START + "ARRIVE;\nmultiply(d, pa, pb); //!\nCOMMIT;\nout[4 * t] = d[1]; //!\nWAIT(0); KEEP(d);",
    ),
    "read_behind_another_wait": (
        "wgmma-register",
        START + "fill(1, 2); PROXY; __syncthreads(); ARRIVE;\nmultiply(d, pa, pb); COMMIT;\n"
        "multiply(e, qa, qb); //!\nCOMMIT; WAIT(1);\nout[4 * t] = e[1]; //!\nWAIT(0); KEEP(d); KEEP(e);",
    ),
    "a_written_before_the_wait": (
        "wgmma-register",
        START + "unsigned r[4] = {1u + t, 2, 3, 4}; ARRIVE;\nmultiply(d, r, pb); //!\nCOMMIT;\n"
        'asm volatile("add.u32 %0, %0, 1;" : "+r"(r[0]));asm volatile("" :: "r"(r[0])); //!\n'
        "WAIT(0); KEEP(d); d[0] += r[0];",
    ),
    "no_wgmma_fence": (
        "wgmma-fence",
        START + 'ARRIVE;\nasm volatile("add.f32 %0, %0, %0;" : "+f"(d[2])); //!\n'
        "multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d); //!",
    ),
    "no_fence_before_the_first": (
        "wgmma-fence",
        START + "float f[4]; multiply(f, pa, pb); COMMIT; WAIT(0); KEEP(f); //!\nd[0] += f[0];",
    ),
    "no_fence_behind_a": (
        "wgmma-fence",
        START + "unsigned r[4] = {};\n"
        'asm volatile("add.u32 %0, %2, 1; add.u32 %1, %2, 2;" : "=r"(r[0]), "=r"(r[1]) : "r"(t)); //!\n'
        "float f[4]; multiply(f, r, pb); COMMIT; WAIT(0); KEEP(f); //!\nd[0] += f[0];",
    ),
    "no_fence_behind_the_next_a": (
        "wgmma-fence",
        START + "unsigned r[4] = {1u + t, 2, 3, 4}; ARRIVE;\nmultiply(d, r, pb); COMMIT; WAIT(0); //!\n"
        'asm volatile("add.u32 %0, %0, 1;" : "+r"(r[0])); //!\n'
        "multiply(d, r, pb); COMMIT; WAIT(0); KEEP(d); d[0] += r[0]; //!",
    ),
    "operand_overwritten": (
        "wgmma-operand",
        START + "ARRIVE;\nmultiply(d, pa, pb); //!\nCOMMIT;\nif (t == 5) b[0][0] = __float2half(3); //!\n"
        "WAIT(0); KEEP(d);",
    ),
    "no_barrier_behind_the_wait": (
        "wgmma-operand",
        START + "ARRIVE;\nmultiply(d, pa, pb); //!\nCOMMIT; WAIT(0); KEEP(d);\n"
        "if (t == 100) b[0][0] = __float2half(2); //!",
    ),
    "each_warp_overwrites_b": (
        "wgmma-operand",
        START + "unsigned r[4] = {1u + t, 2, 3, 4}; ARRIVE;\nmultiply(d, r, pb); //!\nCOMMIT; WAIT(0); KEEP(d);\n"
        "b[0][i] = __float2half(d[0]); //!",
    ),
    "another_warp_s_rows_of_a": (
        "wgmma-operand",
        START + "ARRIVE;\nmultiply(d, pa, pb); //!\nCOMMIT; WAIT(0); KEEP(d);\n"
        "a[0][(t + 32) % 128 / 32 * 256 + t % 32] = __float2half(2); //!",
    ),
    "two_of_the_warps_meet": (
        "wgmma-operand",
        """fill(0, 1); PROXY;
asm volatile("bar.sync 1, 128;" ::: "memory");
ARRIVE;
multiply(d, pa, pb); //!
COMMIT; WAIT(0); KEEP(d);
if (t < 64) asm volatile("bar.sync 2, 64;" ::: "memory");
if (t / 32 == 1) b[0][t] = __float2half(1); //!""",
    ),
    "the_barrier_of_the_other_warpgroup": (
        "wgmma-operand",
        """fill(0, 1); PROXY; __syncthreads();
ARRIVE;
multiply(d, pa, pb); //!
COMMIT; WAIT(0); KEEP(d);
asm volatile("bar.sync %0, 128;" :: "r"(1 + t / 128) : "memory");
if (t >= 128) b[0][i] = __float2half(1); //!""",
    ),
    "no_barrier_before": ("race", "fill(0, 1); //!\nif (i == 40) b[0][0] = __float2half(1); //!\nPROXY;\nARRIVE;\n"
                          "multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d); //!"),
}  # fmt: skip
CLEAN = {
    "plain": START + "ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);",
    "fenced_by_the_readers": "fill(0, 1); __syncthreads(); PROXY; __syncthreads();\n"
    "ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);",
    "from_registers": START
    + "unsigned r[4] = {1u + t, 2, 3, 4};\nARRIVE; multiply(d, r, pb); COMMIT; WAIT(0); KEEP(d);"
    " r[0] += 1; d[0] += r[0];",
    "a_is_moved_behind_the_fence": START + "unsigned r[4] = {1u + t, 2, 3, 4}; for (int n = 0; n < 3; ++n) { ARRIVE;"
    ' asm volatile("add.u32 %0, %0, 1;" : "+r"(r[0])); multiply(d, r, pb); COMMIT; WAIT(0); } KEEP(d); d[0] += r[0];',
    "the_next_a_is_fenced": START + "unsigned r[4] = {1u + t, 2, 3, 4}; for (int n = 0; n < 3; ++n) {"
    ' asm volatile("add.u32 %0, %0, 1;" : "+r"(r[0])); ARRIVE; multiply(d, r, pb); multiply(d, r, pb); COMMIT; WAIT(0);'
    " } KEEP(d); d[0] += r[0];",
    "no_register_has_changed": START + "unsigned r[4] = {1u + t, 2, 3, 4}; ARRIVE; multiply(d, r, pb); COMMIT; WAIT(0);"
    " multiply(d, r, pb); COMMIT; WAIT(0); KEEP(d);",
    "two_stages": START
    + """for (int n = 0; n < 6; ++n) {
    ARRIVE;
    multiply(d, n % 2 ? qa : pa, n % 2 ? qb : pb);
    multiply(d, n % 2 ? qa : pa, n % 2 ? qb : pb);
    COMMIT;
    if (n) WAIT(1);
    __syncthreads();
    if (n == 0) fill(1, 2);
    PROXY;
    __syncthreads();
}
WAIT(0); KEEP(d);""",
    "a_stage_filled_while_the_other_is_read": START
    + """for (int n = 0; n < 6; ++n) {
    ARRIVE;
    if (n % 2) multiply(e, qa, qb); else multiply(d, pa, pb);
    COMMIT;
    fill(1 - n % 2, n);
    PROXY;
    WAIT(0);
    KEEP(d); KEEP(e);
    __syncthreads();
}""",
    "two_warpgroups": """if (t < 128) { fill(0, 1); PROXY; }
__syncthreads();
ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);
__syncthreads();
if (t >= 128) { fill(0, 2); PROXY; }
__syncthreads();
ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);""",
    "a_barrier_frees_the_tile": START + "ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);\n"
    'asm volatile("bar.sync 1, 128;" ::: "memory"); if (t == 100) b[0][0] = __float2half(2);',
    "its_own_rows_of_a": START + "ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);\n"
    "a[0][t / 32 * 256 + t % 32] = __float2half(2);",
    "each_warp_overwrites_b": START + "unsigned r[4] = {1u + t, 2, 3, 4}; ARRIVE; multiply(d, r, pb); COMMIT; WAIT(0);"
    ' KEEP(d); asm volatile("bar.sync 1, 128;" ::: "memory"); b[0][i] = __float2half(d[0]);',
    "all_warps_meet_one": """fill(0, 1); PROXY;
asm volatile("bar.sync 1, 128;" ::: "memory");
ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);
if (t / 32 != 1) asm volatile("bar.arrive 2, 128;" ::: "memory");
else { asm volatile("bar.sync 2, 128;" ::: "memory"); b[0][t] = __float2half(1); }""",
    "an_mbarrier_that_all_arrive_at": """__shared__ unsigned long long free;
if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(place(&free)) : "memory");
fill(0, 1); PROXY; __syncthreads();
ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); KEEP(d);
asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(place(&free)) : "memory");
for (unsigned done = 0; t == 5 && !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(place(&free)) : "memory");
if (t == 5) b[0][0] = __float2half(2);""",
    "a_later_product_has_read_it": START + "ARRIVE; multiply(d, pa, pb); COMMIT; WAIT(0); multiply(d, pa, pb); COMMIT;"
    " WAIT(0); KEEP(d); __syncthreads(); b[0][i] = __float2half(2);",
}


def findings(tmp_path: Path, name: str, body: str) -> list[dict[str, Any]]:
    (tmp_path / "program.py").write_text(PROGRAM)
    block = "256" if "t >= 128" in body else "128"
    command = [sys.executable, "-m", "softcuda", "check", "--json", tmp_path / "f.json", tmp_path / "program.py", name]
    done = subprocess.run(
        [*map(str, command), body, block], capture_output=True, text=True, env=os.environ | {"SOFTCUDA_QUIET": "1"}
    )
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads((tmp_path / "f.json").read_text())["findings"]


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_found_at_their_lines(name: str, tmp_path: Path) -> None:
    kind, body = DEFECTS[name]
    marked = {number for number, line in enumerate(body.splitlines(), 1) if line.endswith("//!")}
    found = findings(tmp_path, name, body)
    assert found and {finding["kind"] for finding in found} == {kind}, [finding["text"] for finding in found]
    for finding in found:
        assert {finding[who]["line"] for who in ("first", "second") if who in finding} <= marked, finding["text"]
        assert finding["text"] and finding["hint"] and "wgmma" not in finding["title"][:5]


@pytest.mark.parametrize("name", CLEAN)
def test_clean_kernels_are_not_accused(name: str, tmp_path: Path) -> None:
    assert [finding["text"] for finding in findings(tmp_path, name, CLEAN[name])] == []
