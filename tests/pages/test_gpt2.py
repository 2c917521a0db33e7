"""The trainer of GPT-2's shapes notices a kernel that is broken in one place; its reference rounds as bf16 does."""

from __future__ import annotations

import pytest
from broken import HELPERS, break_in_one_place, copy_programs

from warpbook.book import Book, here
from warpbook.run.run import RunError, run_program

SHARED = ("flash-attention", "matmul-tensor", "training-tricks")  # whose kernels it includes
BROKEN = [  # (what is broken, file, what stands there, what to write instead)
    ("boxes down the columns lie elsewhere", "gpt2_gemm.cu", "(u64)(BOX >> 4) << 16", "(u64)(BOX >> 5) << 16"),
    ("every part sums the first part of K", "gpt2_gemm.cu", "begin = part * each", "begin = 0 * each"),
    ("sequences of a head are swapped", "gpt2.cuh", "sequence) * count + head", "head) * sequences + sequence"),
    ("GELU's slope lacks a factor", "gpt2.cuh", "3 * GELU_CUBIC", "GELU_CUBIC"),
    ("LayerNorm's second mean", "gpt2.cu", "tilt += up[i] * gains[i] * unit", "tilt += up[i] * gains[i]"),
    ("the residual's gradient is lost", "gpt2.cu", "around[i] = around[i] + f", "around[i] = f"),
    ("padding counts as vocabulary", "gpt2.cu", "max(0, n - 8 * p)", "8"),
    ("a tile adds another's residual", "gpt2_gemm.cu", "of.other, n + 64 * b, row, o", "of.other, n + 64 * b, 0, o"),
    ("GELU's slope is stored over what it needs", "gpt2_gemm.cu", "b % ROOM * BOX, beside", "0 * BOX, beside"),
    ("the embedding's first gradient is lost", "gpt2.cu", "WIDTH + c] += sum;", "WIDTH + c] = sum;"),
    ("gains and biases decay", "gpt2_step.cu", "if (4 * i >= decaying) s.keep = 1;", ""),
    ("a bf16 copy is another weight's", "gpt2_step.cu", "bfloat162_rn(W.z, W.w)", "bfloat162_rn(W.z, W.z)"),
    ("scores are not scaled", "_gpt2.py", "c, scale = self.config, LOG2E / HEAD**0.5", "c, scale = self.config, LOG2E"),
    ("the rate is not corrected", "_gpt2.py", "rate / (1 - BETA**t)", "rate"),
]  # fmt: skip


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """One copy for all: the kernels that a test leaves whole are compiled once."""
    return copy_programs(tmp_path_factory.mktemp("gpt2"), "language-model", *SHARED)


@pytest.mark.inputs(*(f"snippets/{one}" for one in ("language-model", *SHARED, *HELPERS)))
@pytest.mark.parametrize(("what", "file", "right", "wrong"), BROKEN, ids=[one[0] for one in BROKEN])
def test_a_broken_kernel_is_noticed(copied: Book, what: str, file: str, right: str, wrong: str) -> None:
    path = copied.snippets / "language-model" / file
    whole = path.read_text("utf-8")
    break_in_one_place(path, right, wrong, what)
    try:
        with pytest.raises(RunError, match="AssertionError"):
            run_program(copied, copied.snippets / "language-model" / "gpt2.py")
    finally:
        path.write_text(whole, "utf-8")


@pytest.fixture
def gpt2(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(here().snippets / "language-model"))
    import _gpt2

    return _gpt2


@pytest.mark.inputs("snippets/language-model")
@pytest.mark.parametrize(
    ("number", "bits"),
    [(1.0, 0x3F80), (-2.0, 0xC000), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (1 + 2**-8 + 2**-20, 0x3F81)],
)
def test_bf16_is_rounded_to_the_nearest_and_to_even(gpt2, number: float, bits: int) -> None:
    import numpy as np

    assert gpt2.to_bf16(np.array([number])).tolist() == [bits]


@pytest.mark.inputs("snippets/language-model")
@pytest.mark.parametrize("tiles", [1, 9, 18, 54, 72, 132, 263, 1179])
@pytest.mark.parametrize("steps", [2, 4, 7, 16, 256])
def test_no_part_of_a_sum_is_empty(gpt2, tiles: int, steps: int) -> None:
    parts = gpt2.parts_of(tiles, steps, 132)
    each = -(-steps // parts)
    assert parts >= 1 and (parts - 1) * each < steps


@pytest.mark.inputs("snippets/language-model")
def test_the_shapes_are_those_of_gpt2_with_a_padded_vocabulary(gpt2) -> None:
    import numpy as np

    count = sum(int(np.prod(shape)) for shape in gpt2.GPT2.shapes.values())
    assert count - (gpt2.GPT2.padded - 50257) * 768 == 124_439_808
    assert gpt2.GPT2.padded == 50304
