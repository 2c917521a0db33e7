"""The sectors of the boundary kernels are the ones that the width, the height and the frame let one count by hand."""

from __future__ import annotations

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

ARTICLE = "boundary-labels"
CLASSES, ROWS, H, W = 19, 8, 64, 256  # of --profile on softcuda
METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
READ_BY_PIXEL = (3 * H - 2) * (5 * (W // 32) - 2)  # 3 rows but at the frame; a shifted warp touches two sectors
READ_BY_FOUR = (H // ROWS * (ROWS + 2) - 2) * (W // 32 + 2 * (W // 128 - 1))  # each row once; lanes 0 and 31 look aside
PREDICTED = {
    "one_hot": (H * W // 32, CLASSES * H * W // 8),
    "edge_planes": (READ_BY_PIXEL, CLASSES * H * W // 8),
    "class_sets": (READ_BY_PIXEL, H * W // 8),
    "class_sets_by_four": (READ_BY_FOUR, H * W // 8),
    "edge_bits": (READ_BY_FOUR, H * W // 128),  # 16 bytes of a warp's row are a sector of their own
}


@pytest.mark.parametrize("kernel", PREDICTED)
def test_every_sector_was_predicted(kernel: str) -> None:
    record = records.read(here(), SOFTCUDA, ARTICLE)
    assert record is not None
    launches = record["counters"][f"{ARTICLE}/boundary.py --profile"]["launches"]
    [metrics] = [launch["metrics"] for launch in launches if launch["kernel"] == kernel]
    assert (int(metrics[METRIC.format("ld")]), int(metrics[METRIC.format("st")])) == PREDICTED[kernel]
