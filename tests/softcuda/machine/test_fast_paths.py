"""How blocks advance without an observer: lockstep warps, hoisted instructions, fused dot products.  With a seed, warps
take turns instead."""

from __future__ import annotations

import itertools

import pytest

SIMD = ["generic", "avx2", "avx512"]


def i32(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


def parting_and_meeting(block: tuple[int, int, int], n: int, k: int) -> list[int]:
    bx, by, bz = block
    wide, size = i32(n * 3 + k), 96
    of_row = i32(by * wide + bz * 7)
    tile = [i32(t * k + n + sum(of_row ^ i for i in range(t // 32 + 2))) for t in range(size)]
    values = []
    for t, x in enumerate(tile):
        if t % 3 == 0:
            x += tile[size - 1 - t] * wide
        elif of_row & 1:
            x -= int(n / (k | 1))
        values.append(i32(x))
    return [i32(x + (values[t ^ 1] if t >= 32 else 0) + tile[(t + bx) % size]) for t, x in enumerate(values)]


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("settings", [{}, {"seed": 3}, {"threads": 1}], ids=str)
def test_warps_part_and_meet(run, simd: str, settings: dict[str, int]) -> None:
    grid = (3, 4, 2)
    done = run(
        "parting_and_meeting", "buf:i32:2304", "i32:5", "i32:-3", grid="3,4,2", block=96, simd=simd, **settings
    )  # fmt: skip
    blocks = itertools.product(*(range(n) for n in reversed(grid)))
    assert done.buffers[0] == [x for z, y, b in blocks for x in parting_and_meeting((b, y, z), 5, -3)]


@pytest.mark.parametrize("settings", [{}, {"seed": 3}], ids=str)
def test_a_fault_in_a_later_warp_names_its_thread(run, settings: dict[str, int]) -> None:
    done = run("writes_where_told", "buf:i32:70:zero", "buf:i32:96:iota", block=96, **settings)
    assert "illegal address" in done.fault and "thread (70,0,0)" in done.fault
    assert "just past the end" in done.fault and "(st.global.u32)" in done.fault


# %r5 is the thread's number, and then what the barrier counts.
COUNTED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry counted(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    add.s32 %r5, %r1, 0;
    setp.lt.u32 %p1, %r1, 40;
    bar.red.popc.u32 %r5, 0, %p1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r6, [%rd4];
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r6;
    ret;
}
"""


def test_a_register_that_a_barrier_writes_is_not_hoisted(run, tmp_path) -> None:
    path = tmp_path / "counted.ptx"
    path.write_text(COUNTED)
    done = run("counted", "buf:i32:128:iota", "buf:i32:128:zero", ptx=path, block=128)
    assert done.buffers[1] == [40] * 128


@pytest.mark.parametrize("paths", ["none", "no-hoisting", "no-affine,no-dots", "none,lockstep", "none,registers,plans"])
def test_any_fast_path_may_be_turned_off(run, paths: str) -> None:
    done = run("parting_and_meeting", "buf:i32:2304", "i32:5", "i32:-3", grid="3,4,2", block=96, optimise=paths)
    blocks = itertools.product(*(range(n) for n in (2, 4, 3)))
    assert done.buffers[0] == [x for z, y, b in blocks for x in parting_and_meeting((b, y, z), 5, -3)]


# --- fused dot products.  %r5 and %r6 are the two addresses, which move between two rounds; the last load has %r5's,
# too.

PRODUCTS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry products(.param .u64 in, .param .u64 out, .param .u32 a_step, .param .u32 b_step)
{
    .reg .pred %p<3>;
    .reg .f32 %f<20>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<8>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r11, [a_step];
    ld.param.u32 %r12, [b_step];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.s32 %r4, %r3, %r2;
    st.shared.f32 [%r4], %f1;
    bar.sync 0;
    and.b32 %r9, %r1, 15;
    mad.lo.s32 %r5, %r9, %r11, %r3;
    shr.u32 %r10, %r1, 4;
    mad.lo.s32 %r6, %r10, %r12, %r3;
    mov.f32 %f2, 0f3F800000;
    mov.u32 %r7, 0;
    setp.lt.u32 %p2, %r1, IDLE;
    @%p2 bra DONE;
ROUND:
    ld.shared.f32 %f3, [%r5];
    ld.shared.f32 %f4, [%r6+64];
    fma.rn.f32 %f5, %f3, %f4, %f2;
    ld.shared.f32 %f6, [%r5+4];
    ld.shared.f32 %f7, [%r6+128];
    fma.rn.f32 %f8, %f7, %f6, %f5;
    ld.shared.f32 %f9, [%r5+LAST];
    ld.shared.f32 %f10, [%r6+176];
    fma.rn.f32 %f11, %f9, %f10, %f8;
    ld.shared.f32 %f12, [%r5+4];
    add.f32 %f2, %f11, %f12;
    add.s32 %r5, %r5, 4;
    add.s32 %r6, %r6, 8;
    add.s32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, 2;
    @%p1 bra ROUND;
DONE:
    add.s64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f2;
    ret;
}
"""


def products(tile: list[float], a_step: int, b_step: int, idle: int) -> list[float]:
    sums = []
    for t in range(64):
        a, b, total = t % 16 * a_step // 4, t // 16 * b_step // 4, 1.0
        for i in range(2 if t >= idle else 0):
            x, y = a + i, b + 2 * i
            for k, j in ((0, 16), (1, 32), (2, 44)):
                total += tile[x + k] * tile[y + j]
            total += tile[x + 1]
        sums.append(total)
    return sums


@pytest.fixture
def source(tmp_path):
    def write(last: int = 8, idle: int = 0):
        path = tmp_path / "products.ptx"
        path.write_text(PRODUCTS.replace("LAST", str(last)).replace("IDLE", str(idle)))
        return path

    return write


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("idle", [0, 40], ids=["all", "some idle"])
@pytest.mark.parametrize(("a_step", "b_step"), [(4, 0), (0, 4), (4, 4), (12, 0), (8, 12)])
def test_fused_dots(run, source, a_step: int, b_step: int, idle: int, simd: str) -> None:
    arguments = ["buf:f32:64:iota", "buf:f32:64:zero", f"u32:{a_step}", f"u32:{b_step}"]
    done = run("products", *arguments, ptx=source(idle=idle), block=64, grid=2, simd=simd)
    assert not done.fault
    assert done.buffers[1] == products([float(i) for i in range(64)], a_step, b_step, idle)


@pytest.mark.parametrize("simd", SIMD)
def test_a_fused_dot_that_is_no_number_is_the_canonical_nan(run, source, simd: str) -> None:
    """All words of the tile are a NaN with a payload."""
    done = run(
        "products", f"buf:u32:64:{0xFFC12345}", "buf:u32:64:zero", "u32:4", "u32:0", ptx=source(), block=64, simd=simd
    )
    assert done.buffers[1] == [0x7FFFFFFF] * 64


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize(
    ("last", "says"),
    [(1 << 20, "but the block's shared memory ends"), (6, "which is no multiple of 4"), (-1 << 20, "illegal address")],
)
def test_a_fault_within_a_fused_dot_names_its_load(run, source, last: int, says: str, simd: str) -> None:
    arguments = ["buf:f32:64:iota", "buf:f32:64:zero", "u32:4", "u32:4"]
    path = source(last=last)
    line = 1 + path.read_text().splitlines().index(f"    ld.shared.f32 %f9, [%r5+{last}];")
    done = run("products", *arguments, ptx=path, block=64, simd=simd)
    assert says in done.fault
    assert "thread (0,0,0)" in done.fault and f"PTX line {line} (ld.shared.f32)" in done.fault
