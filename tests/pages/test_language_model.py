"""The language model's checks notice a formula that is broken in one place; its tokens are those of the definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken import break_in_one_place, copy_programs

from warpbook.book import Book, here
from warpbook.run.run import RunError, run_program

BROKEN = [  # (what is broken, what stands there, what to write instead)
    ("the sign of the softmax's sum", "- (dweights * weights).sum", "+ (dweights * weights).sum"),
    ("attention is not scaled going back", "dscores /= ", "dscores /= 1 + 0 * "),
    ("RMSNorm lacks its second term", "(g - unit * (g * unit).mean(-1, keepdims=True))", "g"),
    ("the residual's gradient is lost", "dx = dx + d  # around the layer, and through it", "dx = d"),
    ("the embedding's second gradient is lost", 'np.add.at(g["embedding"], tokens, dx)', "pass"),
    ("of a token's places one counts", 'np.add.at(g["embedding"], tokens, dx)', 'g["embedding"][tokens] += dx'),
    ("the loss is not divided by the tokens", "p / p.dtype.type(target.size)", "p"),
    ("the rotation is not turned back", "rotate(dq, cosine, -sine)", "rotate(dq, cosine, sine)"),
    ("the queries' gradient for the keys", "dscores.swapaxes(-1, -2) @ q", "dscores @ q"),
]  # fmt: skip


@pytest.fixture
def copied(tmp_path: Path) -> Book:
    return copy_programs(tmp_path, "language-model")


@pytest.mark.inputs("snippets/language-model", "snippets/warpbench.py", "snippets/warppairs.py")
@pytest.mark.parametrize(("what", "right", "wrong"), BROKEN, ids=[what for what, _, _ in BROKEN])
def test_a_broken_formula_is_noticed(copied: Book, what: str, right: str, wrong: str) -> None:
    break_in_one_place(copied.snippets / "language-model" / "_model.py", right, wrong, what)
    with pytest.raises(RunError, match="AssertionError"):
        run_program(copied, copied.snippets / "language-model" / "gradients.py")


@pytest.fixture
def text_module(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(here().snippets / "language-model"))
    import _text

    return _text


@pytest.mark.inputs("snippets/language-model")
def test_training_merges_the_most_frequent_pair(text_module) -> None:
    assert text_module.train_bpe(b"ababcab", 2) == [(97, 98), (99, 256)]  # of equals, the smallest
    assert text_module.train_bpe(b"aaabdaaabac", 3)[0] == (97, 97)


@pytest.mark.inputs("snippets/language-model")
@pytest.mark.parametrize(
    ("ids", "want"),
    [("aaa", [9, "a"]), ("aaaa", [9, 9]), ("baaab", ["b", 9, "a", "b"]), ("a", ["a"]), ("aabaa", [9, "b", 9])],
)
def test_of_overlapping_pairs_the_left_one_is_merged(text_module, ids: str, want: list) -> None:
    import numpy as np

    got = text_module.merge(np.array([ord(c) for c in ids]), (97, 97), 9)
    assert got.tolist() == [one if isinstance(one, int) else ord(one) for one in want]


@pytest.mark.inputs("snippets/language-model")
def test_entropies_are_those_of_the_definition(text_module) -> None:
    import numpy as np

    one, two = text_module.entropy(np.array([0, 1] * 500 + [0]))
    assert one == pytest.approx(np.log(2), abs=1e-5)
    assert two == pytest.approx(0, abs=1e-9)
    ids = np.random.default_rng(3).integers(0, 4, 400_000)
    one, two = text_module.entropy(ids)
    assert one == pytest.approx(np.log(4), abs=1e-3) and two == pytest.approx(np.log(4), abs=1e-3)
    assert text_module.pair_model(ids, ids, 4) == pytest.approx(np.log(4), abs=1e-3)


@pytest.mark.inputs("snippets/language-model")
def test_the_counts_of_pairs_are_probabilities(text_module) -> None:
    import numpy as np

    ids = np.random.default_rng(5).integers(0, 6, 200)
    for before in range(7):  # the last one was never seen
        total = sum(np.exp(-text_module.pair_model(ids, np.array([before, after]), 7)) for after in range(7))
        assert total == pytest.approx(1, abs=1e-9)
