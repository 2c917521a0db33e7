"""Affine values (base + stride), whose bases are computed once for a block, against the same in Python: blocks of four
warps in whole rows have bases; smaller ones, other shapes and runs with a seed have none."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

SIMD = ["generic", "avx2", "avx512"]

# v = in[i] where i = first + x lies in the limits and 7 elsewhere, plus i; with the neighbour's words and a uniform one
# from shared memory and, for odd x, in[x] twice over.
AFFINE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry affine(.param .u64 in, .param .u64 out, .param .u32 first, .param .u32 least, .param .u32 most,
                       .param .u64 back)
{
    .reg .pred %p<9>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<20>;
    .shared .align 8 .b8 tile[2048];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [first];
    ld.param.u32 %r2, [least];
    ld.param.u32 %r3, [most];
    ld.param.u64 %rd3, [back];
    cvta.to.global.u64 %rd4, %rd1;
    cvta.to.global.u64 %rd5, %rd2;
    mov.u32 %r4, %tid.x;
    mov.u32 %r5, %tid.y;
    mov.u32 %r6, %ntid.x;
    mov.u32 %r7, %ntid.y;
    mov.u32 %r8, %ctaid.AXIS;
    mad.lo.s32 %r9, %r5, %r6, %r4;
    mul.lo.s32 %r10, %r6, %r7;
    mad.lo.s32 %r11, %ctaid.AXIS, %r10, %r9;
    add.TYPE %r12, %r11, %r1;
    mul.wide.TYPE %rd6, %r12, 4;
    sub.s64 %rd7, %rd4, %rd3;
    add.s64 %rd8, %rd7, %rd6;
    setp.ge.TYPE %p1, %r12, %r2;
    setp.le.TYPE %p2, %r12, %r3;
    and.pred %p3, %p1, %p2;
    @%p3 ld.global.u32 %r13, [%rd8];
    @!%p3 mov.u32 %r13, 7;
    add.s32 %r14, %r13, %r12;
    shl.b32 %r15, %r9, 2;
    mov.u32 %r16, tile;
    add.s32 %r17, %r16, %r15;
    st.shared.u32 [%r17], %r14;
    bar.sync 0;
    sub.s32 %r18, %r10, %r9;
    mad.lo.s32 %r19, %r18, 4, %r16;
    ld.shared.u32 %r20, [%r19+-4];
    ld.shared.u32 %r21, [%r16+4];
    ld.shared.u32 %r22, [%r17];
    add.s32 %r23, %r20, %r21;
    add.s32 %r24, %r23, %r22;
    mul.wide.u32 %rd9, %r11, 4;
    add.s64 %rd10, %rd4, %rd9;
    and.b32 %r25, %r11, 1;
    setp.eq.s32 %p4, %r25, 0;
    @%p4 bra EVEN;
    ld.global.u32 %r26, [%rd10];
    ld.u32 %r27, [%rd10];
    add.s32 %r28, %r26, %r27;
    add.s32 %r24, %r24, %r28;
EVEN:
    setp.ne.s32 %p5, %r8, 1;
    xor.pred %p6, %p5, %p4;
    not.pred %p7, %p6;
    selp.b32 %r29, 1, 2, %p7;
    add.s32 %r30, %r24, %r29;
    cvt.u64.u32 %rd11, %r11;
    shl.b64 %rd12, %rd11, 3;
    add.s64 %rd13, %rd5, %rd12;
    cvt.s64.s32 %rd14, %r30;
    st.global.u64 [%rd13], %rd14;
    ret;
}
"""


def source(tmp_path: Path, kind: str, axis: str = "x") -> Path:
    path = tmp_path / f"{kind}_{axis}.ptx"
    path.write_text(AFFINE.replace("TYPE", kind).replace("AXIS", axis))
    return path


def wrapped(x: int, is_signed: bool) -> int:
    return (x + 2**31) % 2**32 - 2**31 if is_signed else x % 2**32


def affine(threads: int, blocks: int, first: int, least: int, most: int, back: int, is_signed: bool) -> list[int]:
    """in[i] is i."""
    result = []
    for block in range(blocks):
        tile = []
        for t in range(threads):
            i = wrapped(first + block * threads + t, is_signed)
            tile.append((i - back // 4 if least <= i <= most else 7) + i)
        for t in range(threads):
            x = block * threads + t
            value = tile[threads - t - 1] + tile[1] + tile[t] + (2 * x if x % 2 else 0)
            value += 1 if (block != 1) == (x % 2 == 0) else 2
            result.append(wrapped(value, True))
    return result


WHERE = {
    "plain": ("u32", 5, 5, 300, 0),
    "signed": ("s32", 0, 3, 900, 0),
    "below zero": ("u32", 2**32 - 40, 0, 500, 0),
    "signed below zero": ("s32", -70, 0, 500, 0),
    "past the largest": ("s32", 2**31 - 50, 2**31 - 50, 2**31 - 1, 4 * (2**31 - 50)),
    "from past the largest": ("s32", 2**31 - 40, -(2**31), 500 - 2**31, -4 * 2**31),
    "past the largest at a warp's end": ("s32", 2**31 - 64, 2**31 - 64, 2**31 - 1, 4 * (2**31 - 64)),
}


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("where", WHERE)
def test_affine_values(run, tmp_path, where: str, simd: str) -> None:
    kind, first, least, most, back = WHERE[where]
    blocks = {"128": 128, "32,4": 128, "96,3": 288, "64": 64, "16,8": 128, "48,4": 192}
    for (block, threads), (axis, grid) in itertools.product(blocks.items(), {"x": "3", "y": "1,3"}.items()):
        path = source(tmp_path, kind, axis)
        for settings in ({}, {"seed": 5}) if axis == "x" else ({"threads": 1},):
            arguments = ["buf:i32:1024:iota", f"buf:i64:{3 * threads}:zero", f"u32:{first % 2**32}"]
            arguments += [f"u32:{least % 2**32}", f"u32:{most % 2**32}", f"i64:{back}"]
            done = run("affine", *arguments, ptx=path, block=block, grid=grid, simd=simd, **settings)
            assert not done.fault
            expected = affine(threads, 3, first, least, most, back, kind == "s32")
            assert done.buffers[1] == expected, (block, grid, settings)


@pytest.mark.parametrize(("elements", "block", "thread"), [(70, 0, 70), (128, 1, 0)])
def test_a_fault_names_the_lane_and_the_instruction(run, tmp_path, elements: int, block: int, thread: int) -> None:
    path = source(tmp_path, "u32")
    arguments = ["buf:i32:1024:iota", f"buf:i64:{elements}:zero", "u32:0", "u32:0", "u32:500", "u64:0"]
    done = run("affine", *arguments, ptx=path, block=128, grid=2, threads=1)
    assert "illegal address" in done.fault and "just past the end" in done.fault
    assert f"block ({block},0,0), thread ({thread},0,0)" in done.fault and "(st.global.u64)" in done.fault
