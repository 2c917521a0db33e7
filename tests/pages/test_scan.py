"""The table of counts on the page of prefix sums, in both languages, says what softcuda's record says."""

from __future__ import annotations

import re

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

BOOK = here()
COMMAND = "scan/ladder.py --profile"
NUMBERS = 2**18
ROW = re.compile(r"^\| (v\d+) \| [^|]+ \| \d+ \| ([\d.]+) \| ([\d.]+) \|", re.MULTILINE)

pytestmark = pytest.mark.inputs("docs/en/optimisation/scan.md", "docs/zh/optimisation/scan.md", "records/softcuda")


def counted() -> dict[str, tuple[float, float]]:
    """Of each kernel that scans, per 32 numbers: instructions of a warp, and passes over shared memory."""
    record = records.read(BOOK, SOFTCUDA, "scan")
    assert record is not None
    found: dict[str, tuple[float, float]] = {}
    for launch in record["counters"][COMMAND]["launches"]:
        name, metrics = launch["kernel"], launch["metrics"]
        if name.startswith("scan_v"):  # the first launch is over the numbers, later ones over sums of tiles
            passes = sum(metrics[f"softcuda__wavefronts_shared_op_{op}.sum"] for op in ("ld", "st"))
            instructions = metrics["softcuda__warp_instructions.sum"]
            found.setdefault(name.removeprefix("scan_"), (32 * instructions / NUMBERS, 32 * passes / NUMBERS))
    return found


def rounds_to(text: str, number: float) -> bool:
    """Whether the page's figure is `number`, rounded to as many digits as it shows."""
    digits = len(text.partition(".")[2])
    return abs(float(text) - number) <= 0.5001 * 10**-digits


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_on_the_page_are_recorded(language: str) -> None:
    path = BOOK.page_of("scan", language)
    assert path is not None
    rows, want = ROW.findall(path.read_text("utf-8")), counted()
    assert [name for name, *_ in rows] == list(want)
    for name, instructions, passes in rows:
        assert rounds_to(instructions, want[name][0]), f"{name}: {want[name][0]} instructions per 32 numbers"
        assert rounds_to(passes, want[name][1]), f"{name}: {want[name][1]} passes per 32 numbers"
