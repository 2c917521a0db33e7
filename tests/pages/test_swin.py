"""The sectors that the article on Swin predicts by hand are those that softcuda counts, to the last; and the costs."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from modules import module_of

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

ARTICLE = "swin"
METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"


@pytest.fixture(scope="module")
def kernels() -> Iterator[ModuleType]:
    with module_of(ARTICLE, "_kernels") as module:
        yield module


@pytest.fixture(scope="module")
def launches() -> dict[str, dict[str, float]]:
    record = records.read(here(), SOFTCUDA, ARTICLE)
    assert record is not None
    found: dict[str, dict[str, float]] = {}
    for launch in record["counters"][f"{ARTICLE}/swin.py --profile"]["launches"]:
        found.setdefault(launch["kernel"], launch["metrics"])
    return found


def test_every_sector_was_predicted(kernels: ModuleType, launches: dict[str, dict[str, float]]) -> None:
    maps = kernels.Maps(1, 28, 28, heads=3, shift=3, module=object())  # of --profile on softcuda
    counted = {name: tuple(int(of[METRIC.format(op)]) for op in ("ld", "st")) for name, of in launches.items()}
    assert counted == {name: kernels.sectors(name, maps) for name in launches}
    assert {name for name, _, _ in kernels.CHAIN} < set(launches)


def test_the_padded_table_has_no_conflicts(launches: dict[str, dict[str, float]]) -> None:
    metric = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
    assert launches["window_attention"][metric] == 0
    assert launches["window_attention_unpadded"][metric] > 0


def test_multiplications_grow_as_the_formula_says(launches: dict[str, dict[str, float]]) -> None:
    """A thread multiplies N keys and values of 32 channels; global attention has 13 blocks of queries, 16 × N keys."""
    metric = "softcuda__warp_instructions_pipe_fma.sum"
    products = 2 * 49 * 2 * 32  # of the two warps of a block, for 49 keys
    blocks = {"window_attention": 16 * 3, "global_attention": 13 * 16 * 3}
    for name, times in blocks.items():
        assert 1 <= launches[name][metric] / (times * products) < 1.3, name


def test_a_row_that_no_grid_covers_is_refused(kernels: ModuleType) -> None:
    maps = kernels.Maps(1, 2, 65_536, heads=1, head=4, module=object())
    with pytest.raises(ValueError, match="65536 blocks; a grid's y has 65535"):
        maps.merge(None, None, 4 * kernels.COPIED)
