"""From a wrong result or an exceeded budget to its cause, on arrays made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from warpjudge import Budget, Exercise, Failure, Launch, counters
from warpjudge.diagnose import cause_of

ROWS = np.array([[1.0, 2.0], [200.0, 3.0], [-300.0, -301.0], [4.0, 5.0]], np.float32)


def failure(want: Any, got: Any, kernel: str = "void f(const float* x, float* y)", **inputs: Any) -> Failure:
    """What the judge knows of a kernel that left `got`."""
    expected = np.asarray(want)
    found = np.asarray(got, np.float32 if expected.dtype.kind == "f" else expected.dtype)
    exercise = Exercise(
        kernel=kernel, sizes=[1], inputs=lambda random, n: inputs, reference=lambda **given: {"y": expected},
        launch=lambda n: Launch(1, 32),
    )  # fmt: skip
    wrong = ~(np.abs(found.astype(np.float64) - expected) <= 1e-6 * np.abs(expected))
    nowhere = np.zeros(expected.shape, bool)
    bound = np.zeros(expected.shape)
    return Failure(exercise, (1,), Launch(1, 32), inputs, "y", found, expected, bound, wrong, nowhere)


def softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_an_exponential_that_overflows_is_named_with_its_row() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(ROWS)
        cause = cause_of(failure(softmax(ROWS), e / e.sum(axis=1, keepdims=True), x=ROWS))
    assert (cause.name, cause.values["row"], cause.values["largest"]) == ("exp-overflow", 1, "200")


def test_exponentials_that_are_all_0_are_named_with_their_row() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(ROWS - np.maximum(ROWS.max(axis=1, keepdims=True), 0))
        cause = cause_of(failure(softmax(ROWS), e / e.sum(axis=1, keepdims=True), x=ROWS))
    assert (cause.name, cause.values["row"], cause.values["largest"]) == ("exp-underflow", 2, "-300")


@pytest.mark.parametrize("bad", [[0, 1], [1], [0, 1, 2, 3]])
def test_other_nans_are_not_blamed_on_the_exponential(bad: list[int]) -> None:
    got = softmax(ROWS)
    got[bad] = np.nan
    huge = np.where(np.arange(4)[:, None] == 3, 250, ROWS).astype(np.float32)  # finite in a row that would overflow
    assert cause_of(failure(softmax(ROWS), got, x=huge)).name == "nan"


@pytest.mark.parametrize(("dtype", "bits"), [("uint64", 32), ("int32", 16)])
def test_a_whole_number_that_wrapped_is_recognised(dtype: str, bits: int) -> None:
    want = np.array([5, (3 << bits) + 7], dtype)
    cause = cause_of(failure(want, want % (1 << bits)))
    assert (cause.name, cause.values["bits"]) == ("wrapped", bits)


def test_a_maximum_and_a_minimum_that_start_with_0_are_recognised() -> None:
    want = np.array([3.0, -4.0, 2.0, -5.0])
    x = np.stack([want, want - 1], axis=1)
    assert cause_of(failure(want, np.maximum(want, 0), x=x)).name == "started-greatest"
    assert cause_of(failure(-want, np.minimum(-want, 0), x=-x)).name == "started-least"
    assert cause_of(failure(want, np.maximum(want, 0), x=want)).name == "different"  # no maximum: element by element


def test_rows_with_a_factor_each_share_something_wrong() -> None:
    right = softmax(ROWS / 100)
    cause = cause_of(failure(right, right * np.array([[1], [2], [3], [1]])))
    assert (cause.name, cause.values["row"], cause.values["factor"]) == ("row-factor", 1, "2")


def test_a_matrix_of_zeros_is_a_constant_and_no_multiple() -> None:
    want = np.array([[-1.0, -2.0, -3.0], [4.0, 5.0, 6.0]])
    assert cause_of(failure(want, np.zeros_like(want))).name == "constant"


def test_counts_are_not_said_to_come_from_elsewhere_by_chance() -> None:
    want = np.tile([1, 2, 3], 20)
    assert cause_of(failure(want, np.tile([3, 1, 1], 20))).name == "different"


def load(lanes: int, sectors: int, line: int = 3) -> dict[str, Any]:
    traffic = {"access": "load", "requests": 100, "sectors": 100 * sectors, "bytes": 400 * lanes}
    return {"line": line, "text": "ld.global", "warps": 100, "lanes": 100 * lanes, "global": traffic}


@pytest.mark.parametrize(
    ("operations", "cause"),
    [
        ([load(32, 32)], "bytes-strided"),
        ([load(32, 8), load(32, 8), load(32, 8), load(32, 8)], "bytes-strided"),  # an unrolled loop
        ([load(32, 4), load(32, 4)], "bytes"),  # read twice
        ([load(1, 1)], "few-lanes"),  # one lane: it has no neighbour
    ],
)
def test_bytes_beyond_the_budget_are_explained_by_the_stride(operations: list[Any], cause: str) -> None:
    loaded = sum(32 * one["global"]["sectors"] for one in operations)
    rows = [{"line": 3, "load_sectors": loaded // 32}]
    [found] = counters.over(Budget(at=1, bytes_loaded=loaded / 2), {"bytes_loaded": loaded}, rows, operations)
    assert (found["cause"], found["line"]) == (cause, 3)


@pytest.mark.parametrize(
    ("lanes", "diverged", "cause"),
    [(9.9, 128, "diverged-instructions"), (31.0, 1, "instructions"), (1.0, 0, "instructions")],
)
def test_instructions_beyond_the_budget_are_explained_by_divergence(lanes: float, diverged: int, cause: str) -> None:
    rows = [{"line": 3, "instructions": 900, "lanes": lanes, "diverged": diverged}]
    [found] = counters.over(Budget(at=1, instructions_per_warp=100), {"instructions_per_warp": 900.0}, rows, [])
    assert (found["cause"], found["values"]["lanes"]) == (cause, lanes)
