"""The table of counts on the page of matrix products, in both languages, says what softcuda's record says."""

from __future__ import annotations

import re

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

BOOK = here()
COMMAND = "matmul/ladder.py --profile"
FMAS = 256**3 / 32  # of warps
ROW = re.compile(r"^\| (v\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", re.MULTILINE)

pytestmark = pytest.mark.inputs("docs/en/optimisation/matmul.md", "docs/zh/optimisation/matmul.md", "records/softcuda")


def counted() -> dict[str, tuple[float, float, float]]:
    """Of each kernel, per FMA of a warp: instructions and passes over shared memory; and bytes loaded per flop."""
    record = records.read(BOOK, SOFTCUDA, "matmul")
    assert record is not None
    found = {}
    for launch in record["counters"][COMMAND]["launches"]:
        metrics = launch["metrics"]
        passes = sum(metrics[f"softcuda__wavefronts_shared_op_{op}.sum"] for op in ("ld", "st"))
        loaded = 32 * metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] / (2 * 256**3)
        found[launch["kernel"].removeprefix("gemm_")] = (
            metrics["softcuda__warp_instructions.sum"] / FMAS,
            passes / FMAS,
            loaded,
        )
    return found


def rounds_to(text: str, number: float) -> bool:
    """Whether the page's figure is `number`, rounded to as many digits as it shows."""
    digits = len(text.partition(".")[2])
    return abs(float(text) - number) <= 0.5001 * 10**-digits


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_on_the_page_are_recorded(language: str) -> None:
    path = BOOK.page_of("matmul", language)
    assert path is not None
    rows = ROW.findall(path.read_text("utf-8"))
    want = counted()
    assert [name for name, *_ in rows] == list(want)
    for name, instructions, passes, cycles, loaded in rows:
        instructions_now, passes_now, loaded_now = want[name]
        assert rounds_to(instructions, instructions_now), f"{name}: {instructions_now} instructions per FMA"
        assert rounds_to(loaded, loaded_now), f"{name}: {loaded_now} bytes per flop"
        if passes_now:  # v0 and v1 use L1
            assert rounds_to(passes, passes_now), f"{name}: {passes_now} passes per FMA"
            assert rounds_to(cycles, max(instructions_now / 4, passes_now)), f"{name}: cycles by the model"
