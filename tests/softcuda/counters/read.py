"""Read the counters of every kernel of kernels.py on a GPU, with Nsight Compute:

python tests/softcuda/counters/read.py FILE       (needs ncu on PATH and a PyCUDA that has a device)
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).with_name("kernels.py")
OPERATIONS = ("ld", "st", "red", "atom")
METRICS = (
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("requests", "sectors") for op in OPERATIONS),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")),
    *(f"smsp__sass_inst_executed_op_shared_{op}.sum" for op in ("ld", "st", "atom")),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "dram__bytes_read.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__registers_per_thread",
)


def number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def profile() -> list[dict]:
    # Caches are emptied before each kernel, and clocks are left alone.
    command = ["ncu", "--clock-control", "none", "--cache-control", "all", "--metrics", ",".join(METRICS)]
    command += ["--csv", "--page", "raw", "--print-units", "base", sys.executable, str(KERNELS)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        sys.exit(f"ncu failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))) if (row["ID"] or "").isdigit()]
    return [
        {
            "kernel": row["Kernel Name"].split("(")[0],
            "grid": numbers(row["Grid Size"]),
            "block": numbers(row["Block Size"]),
            "metrics": {name: number(row[name]) for name in METRICS},
        }
        for row in rows
    ]


def main(file: Path) -> None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    where = {"device": device, "driver": driver, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    rows = ",\n".join(json.dumps(row) for row in profile())
    new = file.with_suffix(".new")
    new.write_text(f'{{"read": {json.dumps(where)}, "launches": [\n{rows}\n]}}\n')
    new.replace(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
