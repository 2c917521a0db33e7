"""The sectors that the article on fused kernels predicts by hand are the ones that softcuda counts, to the last."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from modules import module_of

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

ARTICLE = "fused-kernels"
ROWS, LENGTH = 64, 4096  # of --profile on softcuda
METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"


@pytest.fixture
def fused() -> Iterator[ModuleType]:
    """With a context for the test, since some shapes depend on how many multiprocessors a device has."""
    cuda = pytest.importorskip("pycuda.driver")
    with module_of(ARTICLE, "_sectors") as module:
        cuda.init()
        context = cuda.Device(0).make_context()
        yield module
        context.pop()
        context.detach()


def test_every_sector_was_predicted(fused: ModuleType) -> None:
    record = records.read(here(), SOFTCUDA, ARTICLE)
    assert record is not None
    launches = record["counters"][f"{ARTICLE}/fused.py --profile"]["launches"]
    counted: dict[str, tuple[int, int]] = {}
    for launch in launches:
        name, metrics = launch["kernel"], launch["metrics"]
        counted.setdefault(name, (int(metrics[METRIC.format("ld")]), int(metrics[METRIC.format("st")])))
    names = [*fused.MOVED, "norm_columns"]
    assert set(names) == set(counted), "every kernel of a step is predicted, and launched"
    assert counted == {name: fused.sectors(name, ROWS, LENGTH) for name in counted}
