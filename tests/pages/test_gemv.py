"""The table of counts on the page of GEMV, in both languages, says what softcuda's record says."""

from __future__ import annotations

import re

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

BOOK = here()
COMMAND = "gemv/ladder.py --profile"
GROUPS = 256 * 2048 / 32  # of 32 weights, in the profiled launches
ROW = re.compile(r"^\| (v\d) [^|]*\| ([\d.]+) \| ([\d.]+) \|", re.MULTILINE)

pytestmark = pytest.mark.inputs("docs/en/optimisation/gemv.md", "docs/zh/optimisation/gemv.md", "records/softcuda")


def counted() -> dict[str, tuple[float, float]]:
    """Of each kernel, per 32 weights: instructions of warps, and sectors loaded."""
    record = records.read(BOOK, SOFTCUDA, "gemv")
    assert record is not None
    return {
        launch["kernel"].removeprefix("gemv_"): (
            launch["metrics"]["softcuda__warp_instructions.sum"] / GROUPS,
            launch["metrics"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] / GROUPS,
        )
        for launch in record["counters"][COMMAND]["launches"]
    }


def rounds_to(text: str, number: float) -> bool:
    """Whether the page's figure is `number`, rounded to as many digits as it shows."""
    digits = len(text.partition(".")[2])
    return abs(float(text) - number) <= 0.5001 * 10**-digits


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_on_the_page_are_recorded(language: str) -> None:
    path = BOOK.page_of("gemv", language)
    assert path is not None
    rows = ROW.findall(path.read_text("utf-8"))
    want = counted()
    assert [name for name, *_ in rows] == ["v0", "v1", "v2", "v3", "v4", "v5", "v9"]
    for name, instructions, sectors in rows:
        instructions_now, sectors_now = want[name]
        assert rounds_to(instructions, instructions_now), f"{name}: {instructions_now} instructions per 32 weights"
        assert rounds_to(sectors, sectors_now), f"{name}: {sectors_now} sectors per 32 weights"
