"""The counts that the page of Triton types are those that softcuda recorded."""

from __future__ import annotations

import re
from typing import Any

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

BOOK = here()
LADDER = ("v0", "v1", "v2", "v3", "v4", "wrapped", "v1 at 488", "aligned at 488", "wrapped at 488", "v3 at 488")
ROWS = ("softmax", "softmax in CUDA", "layer norm")
WARPS, SECTORS = "softcuda__warp_instructions.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!,?\d)")  # with separators: on these pages, only counts

pytestmark = pytest.mark.inputs("docs/en/frameworks/triton.md", "docs/zh/frameworks/triton.md", "records/softcuda")


def launches(article: str, command: str) -> list[dict[str, Any]]:
    record = records.read(BOOK, SOFTCUDA, article)
    assert record is not None
    return [launch["metrics"] for launch in record["counters"][command]["launches"]]


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, Any]]:
    ladder = dict(zip(LADDER, launches("triton", "triton/ladder.py --profile"), strict=True))
    return ladder | dict(zip(ROWS, launches("triton", "triton/rows.py --profile"), strict=True))


def written(counted: dict[str, dict[str, Any]]) -> set[int]:
    """Every count that the page has in thousands."""
    warps = [metrics[WARPS] for name, metrics in counted.items() if name not in ("v4", "wrapped at 488", "v3 at 488")]
    ours = {f"v{i}": launch for i, launch in enumerate(launches("matmul-tensor", "matmul-tensor/ladder.py --profile"))}
    passes = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"
    assert counted["v0"][passes] == ours["v4"][passes]
    requests, stored = (
        f"l1tex__t_{what}_pipe_lsu_mem_global_op_{kind}.sum" for what, kind in (("requests", "ld"), ("sectors", "st"))
    )
    of_rows = [counted[name][key] for name in ROWS for key in (requests, SECTORS, stored)]
    [exact] = launches("triton", "triton/fp32.py --profile")
    fma, loads = exact["softcuda__warp_instructions_pipe_fma.sum"], exact["softcuda__wavefronts_shared_op_ld.sum"]
    of_exact = [fma, fma / 4, loads, exact["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]]
    edges = [counted[name][SECTORS] for name in ("v1 at 488", "wrapped at 488")]
    of_cuda = [ours["v4"][WARPS], ours["v7"][WARPS], ours["v4"][passes]]
    return {int(n) for n in [*warps, *of_rows, *of_exact, *edges, *of_cuda]}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_on_the_page_are_counted(language: str, counted: dict[str, dict[str, Any]]) -> None:
    path = BOOK.page_of("triton", language)
    assert path is not None
    page = {int(number.replace(",", "")) for number in NUMBER.findall(path.read_text("utf-8"))}
    assert page == written(counted)


def test_what_the_page_says_of_conflicts_registers_and_sizes(counted: dict[str, dict[str, Any]]) -> None:
    for metrics in counted.values():
        assert all(
            metrics[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum"] == 0 for kind in ("ld", "st")
        )
    assert [counted[name]["launch__registers_per_thread"] for name in ROWS] == [23, 30, 32]
    assert counted["v0"][SECTORS] * 32 == 4 * 2**20
    shared = {name: metrics["launch__shared_mem_per_block_dynamic"] for name, metrics in counted.items()}
    assert (shared["v0"], round(shared["v4"] / 1024)) == (96 * 1024, 208)
