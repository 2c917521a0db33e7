"""Loads whose lanes point close to one another, which are served together, against the same in Python."""

from __future__ import annotations

import pytest

ALL = 0xFFFFFFFF


def place(pattern: int, t: int) -> int:
    patterns = [t, 7, 31 - t, t % 16 + 20 * (t // 16), t // 8, t * 33 % 97, 127 - 4 - t % 3]
    return patterns[pattern] if pattern < len(patterns) else t if t < 16 else 0


def close_loads(pattern: int, mask: int, t: int) -> int:
    """in[i] is i, and so is tile[i]."""
    lane, total = t % 32, 0
    if not mask >> lane & 1:
        return -1 + lane - (lane + 2)
    at = place(pattern, lane)
    for k in range(3):
        total = total * 3 + at + 5 * (at + 4) - 7 * (at + 1) + 11 * at - 13 * (at + 4) + 17 * (at + 2)
        at = place(pattern + k, 31 - lane)
    return total + lane - (lane + 2)


@pytest.mark.parametrize("simd", ["generic", "avx2", "avx512"])
@pytest.mark.parametrize("mask", [ALL, 0x0000FFFF, 0xFFFF0000, 0x80000001, 0xF0F0F0F0], ids=hex)
def test_close_loads(run, mask: int, simd: str) -> None:
    for pattern in range(8):
        done = run(
            "close_loads",
            "buf:i32:128:iota",
            f"i32:{pattern}",
            f"u32:{mask}",
            "buf:i32:128:zero",
            block=64,
            simd=simd,
            grid=3,
        )
        assert not done.fault
        assert done.buffers[1][:64] == [close_loads(pattern, mask, t) for t in range(64)], pattern


@pytest.mark.parametrize("simd", ["generic", "avx2", "avx512"])
def test_one_element_too_far(run, simd: str) -> None:
    """The last lanes of pattern 6 read in[128] where the allocation ends at 127."""
    done = run("close_loads", "buf:i32:127:iota", "i32:6", f"u32:{ALL}", "buf:i32:128:zero", block=64, simd=simd)
    assert "illegal address" in done.fault and "past the end" in done.fault
