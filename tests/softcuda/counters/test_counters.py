"""What `softcuda profile` counts, against what Nsight Compute read on an H200 for the same kernels (h200.json).

Requests, sectors and bank conflicts are functions of the 32 addresses of a warp instruction, and must be equal.  Where
they are not, ptxas made other instructions than PTX has; `DIFFERENT` lists each such figure with its cause and both
values, so that the list is as exact as the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HARDWARE = {launch["kernel"]: launch for launch in json.loads((HERE / "h200.json").read_text())["launches"]}

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
EQUAL = [
    *(GLOBAL.format(what, operation) for what in ("requests", "sectors") for operation in ("ld", "st", "red", "atom")),
    *(CONFLICTS.format(operation) for operation in ("ld", "st", "atom")),
]

AGGREGATED = "all lanes of the warp add to one address known to be uniform: ptxas adds them up first and sends one lane"
MERGED = "ptxas merges two neighbouring loads of shared memory into one of 8 bytes, whose conflicts are fewer"
UNROLLED = "ptxas unrolls the loop and sends the loads of iterations that do not take place, with no lane"
# kernel: {metric: (softcuda, H200)}, and why
DIFFERENT: dict[str, tuple[dict[str, tuple[int, int]], str]] = {
    "reduction_one_address": ({GLOBAL.format("sectors", "red"): (8192, 256)}, AGGREGATED),
    "atomic_one_address": ({GLOBAL.format("sectors", "atom"): (8192, 256)}, AGGREGATED),
    "sum_strided": ({CONFLICTS.format("ld"): (2240, 1984)}, MERGED),
    "scan_tree": ({CONFLICTS.format("ld"): (4288, 4032)}, MERGED),
    "sparse_rows": (
        {GLOBAL.format("requests", "ld"): (1888, 3040), GLOBAL.format("sectors", "ld"): (28735, 29170)},
        UNROLLED,
    ),
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> dict[str, dict]:
    out = tmp_path_factory.mktemp("counters") / "profile.json"
    command = [sys.executable, "-m", "softcuda", "profile", "--json", out, HERE / "kernels.py"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"SOFTCUDA_QUIET": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    launches = json.loads(out.read_text())
    assert [launch["kernel"] for launch in launches] == list(HARDWARE), "the kernels have changed since they were read"
    return {launch["kernel"]: launch for launch in launches}


@pytest.mark.parametrize("kernel", HARDWARE)
def test_counters_equal_the_hardwares(counted, kernel):
    hardware, own = HARDWARE[kernel], counted[kernel]
    assert (own["grid"], own["block"]) == (hardware["grid"], hardware["block"])
    found = {
        metric: (own["metrics"].get(metric, 0), hardware["metrics"][metric])
        for metric in EQUAL
        if own["metrics"].get(metric, 0) != hardware["metrics"][metric]
    }
    assert found == DIFFERENT.get(kernel, ({}, ""))[0]


def test_most_kernels_are_equal_in_everything():
    assert len(HARDWARE) >= 60
    assert len(DIFFERENT) <= 0.03 * len(HARDWARE)
    readme = " ".join((HERE.parents[2] / "softcuda" / "README.md").read_text().split())
    assert f"For {len(HARDWARE)} kernels they were read on an H200, and are equal for all but five" in readme
    assert len(DIFFERENT) == 5


@pytest.mark.parametrize("kernel", [name for name in HARDWARE if name != "sparse_rows"])
def test_the_model_of_l1_finds_what_the_hardware_finds(counted, kernel):
    """With one block an SM, as in these launches; sparse_rows loads more on the GPU (see above)."""
    hits = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
    assert counted[kernel]["metrics"].get("softcuda__l1_sectors_hit.sum", 0) == HARDWARE[kernel]["metrics"][hits]


@pytest.mark.parametrize("kernel", HARDWARE)
def test_bytes_from_memory_are_near(counted, kernel):
    """The GPU fetches instructions and arguments too: at most 12 KB more here, in these kernels."""
    read = HARDWARE[kernel]["metrics"]["dram__bytes_read.sum"]
    more = read - counted[kernel]["metrics"]["softcuda__bytes_from_memory.sum"]
    assert 0 <= more <= 12 * 1024


@pytest.mark.parametrize("kernel", HARDWARE)
def test_occupancy_limits_are_the_hardwares(counted, kernel):
    # Not that of shared memory: the GPU's is of the carve-out that its driver chose, softcuda's of the largest.
    for limit in ("registers", "warps", "blocks"):
        name = f"launch__occupancy_limit_{limit}"
        assert counted[kernel]["metrics"][name] == HARDWARE[kernel]["metrics"][name], name
