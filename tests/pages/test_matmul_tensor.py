"""The passes over shared memory that the page of tensor cores computes with are those that softcuda counted."""

from __future__ import annotations

import re

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records

BOOK = here()
COMMAND = "matmul-tensor/ladder.py --profile"
N = 512
ROW = re.compile(r'^ +\("(v\d+)(?:(?:, | to )v\d+)?", (\d+), (\d+), ([\d *]+) \+ (\d+)\),$', re.MULTILINE)

pytestmark = pytest.mark.inputs(
    "docs/en/optimisation/matmul-tensor.md", "docs/zh/optimisation/matmul-tensor.md", "records/softcuda"
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_passes_on_the_page_are_counted(language: str) -> None:
    path = BOOK.page_of("matmul-tensor", language)
    record = records.read(BOOK, SOFTCUDA, "matmul-tensor")
    assert path is not None and record is not None
    counted = {launch["kernel"]: launch["metrics"] for launch in record["counters"][COMMAND]["launches"]}
    rows = ROW.findall(path.read_text("utf-8"))
    assert len(rows) == 4
    for name, height, width, read, written in rows:
        metrics = counted[f"gemm_{name}"]
        steps = (N // int(height)) * (N // int(width)) * (N // 64)  # of all blocks
        by_wgmma = metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"]
        factors = [int(x) for x in read.split("*")]
        passes = 1
        for factor in factors:
            passes *= factor
        if by_wgmma:
            tile = metrics["l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"] / 128
            assert (passes * steps, int(written) * steps) == (by_wgmma, tile), name
        else:
            loads, stores = (metrics[f"softcuda__wavefronts_shared_op_{op}.sum"] for op in ("ld", "st"))
            assert (passes * steps, int(written) * steps) == (loads, stores), name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_copy_engine_brings_the_bytes_that_the_tiles_have(language: str) -> None:
    path = BOOK.page_of("matmul-tensor", language)
    record = records.read(BOOK, SOFTCUDA, "matmul-tensor")
    assert path is not None and record is not None
    counted = {launch["kernel"]: launch["metrics"] for launch in record["counters"][COMMAND]["launches"]}
    loaded = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"
    stored = "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"
    rows = re.findall(
        rf"^    \| (v\d+) \| {{{{ softcuda#gemm_\1\.{re.escape(loaded)} }}}} \| ([\d ]+) \|",
        path.read_text("utf-8"), re.MULTILINE,
    )  # fmt: skip
    assert [name for name, _ in rows] == ["v4", "v7", "v10", "v11", "v12", "v13", "v14"]
    for name, by_shape in rows:
        width = 128 if name in ("v4", "v13") else 256
        metrics, shape = counted[f"gemm_{name}"], 2 * N**3 * (128 + width) // (128 * width)
        assert metrics[loaded] == shape == int(by_shape.replace(" ", "")), name
        assert metrics[stored] == (2 * N**2 if name in ("v12", "v13", "v14") else 0), name
