"""The decision tree of the page of matrix products, run on the counters that the kernels of both pages recorded.

Each rule must lead to a kernel that was measured to be faster, and the tables on the page must say what the rules say.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from warpbook.book import PRIMARY, here
from warpbook.records import records

BOOK = here()
CORES, TENSOR = "matmul", "matmul-tensor"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
SECTORS = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
PASSES, CONFLICTS = "l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
WORKS = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"
INSTRUCTIONS = "sm__inst_executed_pipe_tensor.sum"
N = {CORES: 4096, TENSOR: 8192}

pytestmark = pytest.mark.inputs(
    "docs/en/optimisation/matmul.md", "docs/zh/optimisation/matmul.md", "records/nvidia-h200"
)


def record_of(article: str) -> dict[str, Any]:
    found = records.read(BOOK, PRIMARY, article)
    assert found is not None
    return found


def launches(article: str) -> dict[str, dict[str, Any]]:
    part = record_of(article)["counters"][f"{article}/ladder.py --profile"]
    return {one["kernel"].removeprefix("gemm_"): one for one in part["launches"]}


def values(article: str) -> dict[str, float]:
    found = {
        name: kept for program in record_of(article)["programs"].values() for name, kept in program["values"].items()
    }
    return {name: kept["value"] for name, kept in found.items()}


def on_cuda_cores(launch: dict[str, Any]) -> tuple[int, str]:
    """The first rule of the page that fits, and the version it leads to."""
    counted, n = launch["metrics"], N[CORES]
    fmas = n**3 / 32
    requests, sectors = (counted[SECTORS.format(kind)] for kind in ("requests", "sectors"))
    # Of r requests, w load 16 bytes: 16 w + 4 (r - w) sectors if all are coalesced. A mean of 4 to 16 can be that.
    wide = (sectors / requests - 4) / 12
    passes, instructions = counted[PASSES] / fmas, counted["smsp__inst_executed.sum"] / fmas
    threads = launch["grid"][0] * launch["grid"][1] * launch["block"][0] * launch["block"][1]
    sums = n * n / threads
    if wide > 1:
        return 1, "v1"
    if passes > 1 and sums == 1:
        return 2, "v3"
    if passes > 0.25:
        if sums < 64:
            return 3, "v4"
        if wide == 0:
            return 3, "v5"
        return (3, "v6") if counted[CONFLICTS] > passes * fmas / 10 else (3, "v7")
    if sum(counted[STALLED.format(kind)] for kind in ("long_scoreboard", "barrier")) >= 1:
        return 4, "v8"
    if instructions > 1.2:
        return 5, "v10"
    return (6, "v10") if counted[ISSUE] < 80 else (7, "")


def on_tensor_cores(name: str, counted: dict[str, float], l2: float, wanted: float) -> tuple[int, str]:
    tile = {"v0": None, "v13": (128, 128)}.get(name, (128, 128) if int(name[1:]) < 6 else (128, 256))
    if counted.get("smsp__inst_executed_op_local_st.sum", 0):
        return 1, "v7"
    if tile is None:
        return 2, "v1"
    if counted[CONFLICTS] > counted[PASSES] / 10:
        return 2, "v2"
    if counted[WORKS] < 60:
        return (3, "v3") if name in ("v1", "v2") else (3, "v4")
    dram = counted["dram__bytes_read.sum"] > 10 * 2 * 2 * N[TENSOR] ** 2
    if counted[WORKS] < 75 and not dram:
        return 4, "v5"
    rows, columns = tile
    if rows * columns / (rows + columns) * l2 < wanted:
        return 5, "v7" if name != "v13" else "v12"
    if dram:
        return 6, "v10"
    if counted[WORKS] < 97:
        return 7, "v12"
    return (8, "v14") if counted["smsp__inst_executed.sum"] > 15 * counted[INSTRUCTIONS] else (9, "")


def tables(language: str) -> list[dict[str, tuple[int, str]]]:
    """Of each table of rules: by kernel, the number of the rule and the version that its row names."""
    path = BOOK.page_of(CORES, language)
    assert path is not None
    row = re.compile(
        r"^    \| (v\d+) \|.*\| (\d)(?:[:：] ?(?:\[(v\d+)\]\([^)]*\)|[\w ]+))?(?: \| (?:{{[^|]*|–))? \|$", re.MULTILINE
    )
    section = path.read_text("utf-8").split("{ #slow }")[1].split("{ #claims }")[0]
    found: list[dict[str, tuple[int, str]]] = []
    for kernel, rule, version in row.findall(section):
        if kernel == "v0":
            found.append({})
        found[-1][kernel] = (int(rule), version)
    return found


def test_each_rule_leads_to_a_faster_kernel_on_cuda_cores() -> None:
    times = values(CORES)
    for name, launch in launches(CORES).items():
        rule, better = on_cuda_cores(launch)
        if not better:
            assert (name, rule) == ("v10", 7)
        elif name == "v3":  # as compiled, v4 fits one block per SM; the page says so
            assert times["v4_two.time"] < times["v3.time"] < times["v4.time"]
        else:
            assert times[f"{better}.time"] < times[f"{name}.time"], f"rule {rule} leads {name} to {better}"


def test_each_rule_leads_to_a_faster_kernel_on_tensor_cores() -> None:
    times, l2 = values(TENSOR), values("devices")["l2.rate"]
    for name, launch in launches(TENSOR).items():
        rule, better = on_tensor_cores(name, launch["metrics"], l2, times["cublas.flops"])
        if better:
            assert times[f"{better}.time"] < times[f"{name}.time"], f"rule {rule} leads {name} to {better}"
        else:
            assert (name, rule) == ("v14", 9)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tables_say_what_the_rules_say(language: str) -> None:
    cores, tensor = tables(language)
    assert cores == {name: on_cuda_cores(launch) for name, launch in launches(CORES).items()}
    times, l2 = values(TENSOR), values("devices")["l2.rate"]
    assert tensor == {
        name: on_tensor_cores(name, launch["metrics"], l2, times["cublas.flops"])
        for name, launch in launches(TENSOR).items()
    }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tables_divide_by_what_was_counted(language: str) -> None:
    """Requests, FMAs, and the bytes of A and B stand on the page as numbers."""
    path = BOOK.page_of(CORES, language)
    assert path is not None
    text = path.read_text("utf-8")
    for name, launch in launches(CORES).items():
        sectors = f"#gemm_{name}.{SECTORS.format('sectors')} / "
        assert sectors + f"{launch['metrics'][SECTORS.format('requests')]} " in text
    for metric in (PASSES, "smsp__inst_executed.sum"):
        found = re.findall(rf"#gemm_v\d+\.{re.escape(metric)} / (\d+) ", text)
        assert found and {int(one) for one in found} <= {4096**3 // 32, 4 * 4096**3 // 32}
    assert {int(n) for n in re.findall(r"dram__bytes_read\.sum / (\d+) ", text)} == {2 * 2 * N[TENSOR] ** 2}
