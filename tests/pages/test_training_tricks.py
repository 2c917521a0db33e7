"""The gradient check of the training tricks notices a backward pass that is broken in one place."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken import break_in_one_place, copy_programs

from warpbook.book import Book, here
from warpbook.run.run import RunError, run_program

BROKEN = [  # (what is broken, what stands there, what to write instead)
    ("a sign", "softmax(kept[-1]) - target", "target - softmax(kept[-1])"),
    ("the ReLU is missing", " * (kept[i] > 0)", ""),
    ("the mean over the batch is missing", "times / target.shape[-2]", "times"),
    ("a stale buffer: biases are left as they were", "bias[:] = store(", "unused = store("),
    ("a stale buffer: weights add to what was there", "weight[:] = store(", "weight += store("),
    ("the logits' sign", "return -(target * (z", "return (target * (z"),
    ("the sign of an input for the input", "np.swapaxes(kept[i], -1, -2)", "np.swapaxes(kept[i] > 0, -1, -2)"),
    ("float16 with ten bits less one", "1.5 * 2.0**42", "1.5 * 2.0**43"),
]  # fmt: skip


@pytest.fixture
def copied(tmp_path: Path) -> Book:
    return copy_programs(tmp_path, "training-tricks")


@pytest.mark.inputs("snippets/training-tricks", "snippets/warpbench.py", "snippets/warppairs.py")
@pytest.mark.parametrize(("what", "right", "wrong"), BROKEN, ids=[what for what, _, _ in BROKEN])
def test_a_broken_backward_pass_is_noticed(copied: Book, what: str, right: str, wrong: str) -> None:
    break_in_one_place(copied.snippets / "training-tricks" / "_nets.py", right, wrong, what)
    with pytest.raises(RunError, match="AssertionError"):
        run_program(copied, copied.snippets / "training-tricks" / "tricks.py")


@pytest.mark.inputs("snippets/training-tricks", "snippets/warpbench.py", "snippets/warppairs.py")
def test_intervals_cover_the_mean_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.syspath_prepend(str(here().snippets / "training-tricks"))
    from _intervals import interval, student

    assert student(0.975, 4) == pytest.approx(2.776445, abs=1e-5)
    assert student(0.995, 9) == pytest.approx(3.249836, abs=1e-5)
    samples = np.random.default_rng(7).standard_normal((400, 10))
    ends = [interval(sample)[1:] for sample in samples]
    assert 0.92 < np.mean([low < 0 < high for low, high in ends]) < 0.98
