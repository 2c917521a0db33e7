"""The helper that programs share: what it accepts as a right result, and as a name."""

from __future__ import annotations

import numpy as np
import pytest
import warpbench as wb

WANT = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def nothing_recorded(monkeypatch):
    for kept in ("_values", "_series", "_spans", "_matrices", "_graphs"):
        monkeypatch.setattr(wb, kept, {})


def test_check_tells_how_much_of_the_bound_was_used():
    assert wb.check(WANT.copy(), WANT) == 0
    assert wb.check(WANT + np.float32(0.5), WANT, 1.0) == pytest.approx(0.5)
    assert wb.check(WANT * np.float32(1.25), WANT, WANT / 2) == pytest.approx(0.5)  # a bound for each


def test_check_names_the_worst_element():
    got = WANT.copy()
    got[1, 2] = 9
    with pytest.raises(AssertionError, match=r"^sums: 9\.0 at \[1, 2\], not 6\.0 within 0\.1; 1 of 6 are wrong$"):
        wb.check(got, WANT, 0.1, "sums")


@pytest.mark.parametrize(
    "got",
    [
        np.full_like(WANT, np.nan),
        np.where(WANT == 4, np.nan, WANT),  # one NaN among right ones
        np.zeros_like(WANT),
        np.full_like(WANT, -1),  # what was there before
        np.full_like(WANT, np.inf),
        WANT.ravel(),
        WANT[:1],
    ],
)
def test_check_passes_nothing_that_is_wrong(got):
    with pytest.raises(AssertionError):
        wb.check(got, WANT, 1e-3)


def test_check_does_not_wrap_around():
    with pytest.raises(AssertionError):
        wb.check(np.uint32([0]), np.uint32([2**32 - 1]), 2)
    with pytest.raises(AssertionError):
        wb.check(np.int64([2**62]), np.int64([-(2**62)]))


@pytest.mark.parametrize("want", [np.empty(0), np.float32([1, np.nan]), np.float32([np.inf])])
def test_a_reference_must_be_able_to_judge(want):
    with pytest.raises(ValueError, match="reference"):
        wb.check(want.copy(), want)


def test_a_reference_must_not_be_the_result_itself():
    out = WANT.copy()
    with pytest.raises(ValueError, match="the reference is the result itself"):
        wb.check(out, out[:])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: wb.value("V0", 1, "s"), "lower-case"),
        (lambda: wb.value("v0", float("nan"), "s"), "'v0' is nan"),
        (lambda: wb.value("v0", 1, "ms"), "unit 'ms' is none of s, B/s"),
        (lambda: (wb.value("a", 1, "s"), wb.series("a", [1], [1], x_unit="B", unit="s")), "'a' is recorded twice"),
        (lambda: wb.series("a", [1, 2], [1], x_unit="B", unit="s"), "y must be as many finite numbers as x"),
        (lambda: wb.series("a", [], [], x_unit="B", unit="s"), "and not none"),
        (lambda: (wb.value("a", 1, "s"), wb.spans("a", [(0, 1, 2)])), "'a' is recorded twice"),
        (lambda: wb.spans("a", [(0, 1, 2)], unit="ms"), "spans 'a': unit 'ms' is neither 's' nor 'cycle'"),
        (lambda: wb.spans("a", []), "spans 'a': 0 of them; give at least one and at most 4096"),
        (lambda: wb.spans("a", [(0, 1, 2)] * 4097), "4097 of them"),
        (lambda: wb.spans("a", [(0, 1, 2), (1, 2)]), r"number 1, \(1, 2\), is not \(row, start, stop\)"),
        (lambda: wb.spans("a", [(0, 1, 2, 3)]), "is not .* label"),
        (lambda: wb.spans("a", [(0.5, 1, 2)]), "a row that is neither a name nor a whole number"),
        (lambda: wb.spans("a", [("h2d", 2, 1)]), r"spans 'a': number 0, \('h2d', 2, 1, ''\), stops before it starts"),
        (lambda: wb.spans("a", [(0, 1, float("nan"))]), "at no finite time"),
        (lambda: wb.matrix("a", [1.0, 2.0]), r"give numbers in rows and columns, not float64 of shape \(2,\)"),
        (lambda: wb.matrix("a", [[1.0, float("nan")]]), r"matrix 'a': nan at \[0, 1\]"),
        (lambda: wb.matrix("a", np.zeros((65, 2))), r"numbers of shape \(65, 2\); at most 64 × 64 are kept"),
        (lambda: wb.matrix("a", np.zeros((2, 257), bool)), r"zeros and ones of shape \(2, 257\); at most 256 × 256"),
        (lambda: wb.matrix("a", [[1.5, 2]], rows=["r"], columns=["c"]), "matrix 'a': columns must be 2 names"),
        (lambda: wb.matrix("a", [[1.5]], unit="ms"), "unit 'ms' is none of"),
        (lambda: wb.graph("a", [], []), "graph 'a': 0 nodes; give at most 64, and at least one node"),
        (lambda: wb.graph("a", [(i, "", "") for i in range(65)], []), "65 nodes"),
        (lambda: wb.graph("a", [("q", "q", "final")], []), r"node 0, .* is of a kind that is none of start, accept"),
        (lambda: wb.graph("a", [(0, "", ""), ("0", "", "")], []), "node '0' is there twice"),
        (lambda: wb.graph("a", [("q", "", "", float("nan"))], []), "weighs nan"),
        (lambda: wb.graph("a", [("p", "", "", 1), ("q", "", "")], []), "some nodes have a weight, and some have none"),
        (
            lambda: wb.graph("a", [("q",)], [("q", "r", "0")]),
            r"edge 0, \('q', 'r', '0'\), has an end that is no node: 'r'",
        ),
    ],
)
def test_names_and_numbers_are_looked_at(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_a_timing_gives_time_rate_and_flops(monkeypatch):
    monkeypatch.setattr(wb, "is_gpu", lambda: True)
    wb.timing("v0", wb.Timing(median=2.0, low=1.0, high=4.0, repeats=50), nbytes=8, flop=16)
    assert wb._values["v0.time"] == {"value": 2.0, "unit": "s", "low": 1.0, "high": 4.0}
    assert wb._values["v0.rate"] == {"value": 4.0, "unit": "B/s", "low": 2.0, "high": 8.0}
    assert wb._values["v0.flops"]["unit"] == "flop/s"


def test_a_timing_on_softcuda_is_not_recorded(monkeypatch):
    monkeypatch.setattr(wb, "is_gpu", lambda: False)
    wb.timing("v0", wb.Timing(median=2.0, low=1.0, high=4.0, repeats=3), nbytes=8, flop=16)
    assert wb._values == {}


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ({"launch": lambda: None}, "launch takes the run's number: lambda i: …"),
        ({"launch": lambda i, j: None}, "launch takes the run's number: lambda i: …"),
        ({"launch": lambda i: None, "poison": lambda: None}, "poison takes the run's number: lambda i: …"),
        ({"launch": lambda i: None, "check": lambda: None}, "check takes the run's number: lambda i: …"),
    ],
)
def test_what_time_calls_takes_the_number_of_the_run(functions, said):
    """Said before anything is launched: no context is needed for it."""
    with pytest.raises(TypeError) as error:
        wb.time(**functions)
    assert str(error.value) == said


def test_spans_start_with_the_earliest_and_lose_no_cycle():
    clock = np.array([[2**62 + 1, 2**62 + 9], [2**62 + 4, 2**62 + 5]], dtype=np.uint64)
    wb.spans("gantt", [(np.int32(7), *clock[0]), ("copy", *clock[1], "in")], unit="cycle")
    assert wb._spans["gantt"] == {
        "row": [7, "copy"], "start": [0.0, 3.0], "stop": [8.0, 4.0], "label": ["", "in"], "unit": "cycle"
    }  # fmt: skip


def test_a_matrix_keeps_four_digits_and_its_names():
    wb.matrix("weights", np.float32([[0.25, 1 / 3], [0, 12345.6]]), rows=["a", "b"], columns=["x", "y"])
    assert wb._matrices["weights"] == {
        "numbers": ["0.25 0.3333", "0 1.235e+04"], "unit": "1", "rows": ["a", "b"], "columns": ["x", "y"]
    }  # fmt: skip


def test_zeros_and_ones_are_kept_in_a_string_a_row():
    wb.matrix("rule110", np.eye(3, dtype=np.uint8))
    wb.matrix("mask", np.tri(2, 3, dtype=bool))
    assert wb._matrices["rule110"] == {"bits": ["100", "010", "001"], "unit": "1"}
    assert wb._matrices["mask"]["bits"] == ["100", "110"]
    wb.matrix("counts", [[0, 2]])
    assert wb._matrices["counts"]["numbers"] == ["0 2"]


def test_a_graph_keeps_what_its_nodes_are():
    wb.graph("dfa", [(0, "even", "start accept"), (1, "odd")], [(0, 1, "1"), (1, 0, "1")])
    assert wb._graphs["dfa"] == {
        "nodes": [["0", "even", "start", "accept"], ["1", "odd"]], "edges": [["0", "1", "1"], ["1", "0", "1"]]
    }  # fmt: skip
    wb.graph("cites", [("a", "", "", 0.7), ("b", "", "", 0.3)], [("b", "a")])
    assert wb._graphs["cites"]["weights"] == [0.7, 0.3]


@pytest.fixture
def context():
    """A context that is gone afterwards: other tests in this process want none."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    yield context
    context.pop()
    context.detach()


def test_softcuda_is_the_same_machine_whatever_memory_is_free(context):
    """A record names its machine by all that `device` answers, so nothing of the moment may be in it."""
    import pycuda.driver as cuda

    if wb.is_gpu():
        pytest.skip("a GPU's memory is its own")
    before = wb.device.__wrapped__()
    held = cuda.mem_alloc(1 << 20)
    assert wb.device.__wrapped__() == before and not [key for key in before if "memory" in key]
    held.free()


def test_time_asks_the_check_before_and_after(context):
    asked, launched = [], []
    t = wb.time(launched.append, check=asked.append, repeats=3, warmup=1)
    assert launched[0] == 0 and asked[0] == 0  # before anything is timed
    assert asked[1] == launched[-1] == t.repeats + 1 - 1
    with pytest.raises(AssertionError, match="wrong"):
        wb.time(lambda i: None, check=lambda i: wb.check(np.ones(1), np.zeros(1), what="wrong"))
