"""Hardware counters: which are asked for, and how the answers of Nsight Compute and of softcuda's profiler are read.

A page names the programs to profile in its front matter (`counters: ["reduction/ladder.py --small"]`).
Metrics keep NVIDIA's names everywhere: here, in the records, on the pages.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from warpbook.book import BookError

METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "gpu__time_duration.sum",
)


def value(launches: Sequence[dict[str, Any]], name: str) -> float:
    """`kernel.metric`, of the kernel's first launch."""
    kernel, _, metric = name.partition(".")
    launch = next((launch for launch in launches if launch["kernel"] == kernel), None)
    if launch is None:
        raise BookError(f'no launch of a kernel "{kernel}" was profiled')
    if metric not in launch["metrics"]:
        raise BookError(f'kernel "{kernel}" was not asked for "{metric}"; see warpbook/records/counters.py')
    return float(launch["metrics"][metric])


def unit(name: str) -> str:
    """A counter's unit, which its name ends in: `….pct` and `….pct_of_peak_…` are percentages, `….ratio` has none."""
    last = name.rpartition(".")[2]
    return "%" if last.startswith("pct") else "1" if last == "ratio" else "count"


def parse(text: str, wanted: Sequence[str] = METRICS) -> list[dict[str, Any]]:
    """Read `ncu --csv --page raw`: after the program's own output a header, a line of units, then one line a launch."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    out = []
    for row in rows:
        if not (row.get("ID") or "").isdigit():
            continue  # the line of units, or a line that the program printed at its end
        metrics = {name: number(row[name]) for name in wanted if row.get(name) not in (None, "", "n/a")}
        kernel = re.split(r"[(<]", row["Kernel Name"])[0].split()[-1]
        out.append(
            {"kernel": kernel, "grid": triple(row["Grid Size"]), "block": triple(row["Block Size"]), "metrics": metrics}
        )
    return out


def number(text: str) -> float | int:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def triple(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]
