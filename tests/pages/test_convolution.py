"""The sectors that the article on convolution predicts by hand are counted to the last; a broken halo is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken import HELPERS, break_in_one_place, copy_programs

from warpbook.book import SOFTCUDA, here
from warpbook.records import records
from warpbook.run.run import RunError, run_program

ARTICLE = "convolution"
SIDE, CHANNELS, TAPS = 16, 64, 9  # of conv.py --profile on softcuda: one image, as many channels out
LOADED, STORED = (f"l1tex__t_sectors_pipe_lsu_mem_global_op_{way}.sum" for way in ("ld", "st"))
FLOATS = 8  # of a sector


def counted(program: str) -> dict[str, dict[str, float]]:
    """The first launch of each kernel."""
    record = records.read(here(), SOFTCUDA, ARTICLE)
    assert record is not None
    found: dict[str, dict[str, float]] = {}
    for launch in record["counters"][f"{ARTICLE}/{program} --profile"]["launches"]:
        found.setdefault(launch["kernel"], launch["metrics"])
    return found


def reads_along_an_axis() -> int:
    """How many inputs along an axis the three taps of all outputs read, without padding."""
    return 3 * SIDE - 2


def test_what_is_stored_was_predicted() -> None:
    kernels = counted("conv.py")
    output = SIDE * SIDE * CHANNELS // FLOATS
    tiles = (SIDE // 2) ** 2
    weights = TAPS * CHANNELS * CHANNELS // FLOATS
    want = {
        "conv_direct": output,
        "conv_implicit": output,
        "im2col": TAPS * output,
        "winograd_input": 16 * tiles * CHANNELS // FLOATS,
        "winograd_weights": 16 * CHANNELS * CHANNELS // FLOATS,
        "winograd_output": output,
        "flip": weights,
        "data_backward": output,
        "add_slices": weights,
        "conv_half": output,  # of half the size, but each thread stores two neighbours of a row: half a sector
        "conv_wgmma": output,
    }
    assert {name: kernels[name][STORED] for name in want} == want


def test_what_im2col_and_the_implicit_product_load_was_predicted() -> None:
    kernels = counted("conv.py")
    columns = reads_along_an_axis() ** 2 * CHANNELS // FLOATS
    weights = TAPS * CHANNELS * CHANNELS // FLOATS
    tiles = SIDE * SIDE // 128
    assert kernels["im2col"][LOADED] == columns
    assert kernels["conv_implicit"][LOADED] == columns + tiles * weights, "the weights once per tile of outputs"


def test_the_rolling_depthwise_kernel_loads_each_row_about_once() -> None:
    side, channels, across, down = 32, 32, 4, 16
    strips, bands = side // across, side // down
    columns = strips * (across + 2) - 2  # without padding
    rows = bands * (down + 2) - 2
    warps = bands * strips * (channels // 4) // 32
    weights = warps * TAPS * channels // FLOATS
    assert counted("depthwise.py")["depthwise_roll"][LOADED] == rows * columns * channels // FLOATS + weights


BROKEN = [  # (what is broken, what stands there, what to write instead)
    ("taps are turned round", "tap / TAPS * HALO_W + tap % TAPS", "tap % TAPS * HALO_W + tap / TAPS"),
    ("rows of the view leave out the border", "(u64)(HALO_W * 128 / 16)", "(u64)(ACROSS * 128 / 16)"),
    ("the padding is left out", '"r"(at.q - s.pad_w)', '"r"(at.q)'),
    ("the next tile takes this one's halo", "halos + turn * HALO;", "halos;"),
    ("all filters get the first weights", "tap * 64, blockIdx.y * 64, here", "tap * 64, 0, here"),
    (
        "a tile of outputs goes to the first image",
        '"r"(at.p), "r"(at.image), "r"(from)',
        '"r"(at.p), "r"(0), "r"(from)',
    ),
]


@pytest.mark.inputs("snippets/convolution", "snippets/matmul-tensor", *(f"snippets/{name}" for name in HELPERS))
@pytest.mark.parametrize(("what", "right", "wrong"), BROKEN, ids=[what for what, *_ in BROKEN])
def test_a_wrong_halo_is_noticed(
    tmp_path: Path, what: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pycuda.driver")
    book = copy_programs(tmp_path, ARTICLE, "matmul-tensor")  # whose wgmma halo.cu includes
    break_in_one_place(book.snippets / ARTICLE / "halo.cu", right, wrong, what)
    monkeypatch.setenv("SOFTCUDA", "force")
    monkeypatch.setenv("PYTHONPATH", str(book.snippets))
    with pytest.raises(RunError, match="AssertionError"):
        run_program(book, book.snippets / ARTICLE / "halo.py")
