"""What NVIDIA's compute-sanitizer says of the planted kernels, on a GPU:

python tests/softcuda/check/compute_sanitizer.py FILE      (needs compute-sanitizer on PATH, and a PyCUDA with a device)
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import CASES

PLANTED = Path(__file__).with_name("planted.py")
TOOLS = {  # by the kind of the defect; a clean kernel goes through those of its neighbour
    "uninitialised": ["initcheck"],
    "leak": ["memcheck --leak-check full"],
    "barrier": ["synccheck", "racecheck"],
    "inactive-lane": ["synccheck", "racecheck"],
    "race": ["racecheck", "synccheck"],
    "warp-synchronous": ["racecheck", "synccheck"],
    "async-copy": ["racecheck", "synccheck"],
}
SECONDS = 45  # a kernel that waits for ever takes so long


def ask(tool: str, name: str) -> str:
    """What one tool says: "3 found" or "nothing", or "hangs"."""
    command = ["compute-sanitizer", "--tool", *tool.split(), sys.executable, str(PLANTED), name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs"
    found = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", done.stdout + done.stderr)
    if found is None:
        sys.exit(f"{tool} of {name} gives no summary:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return "nothing" if found[1] == "0" else f"{found[1]} found"


def main(file: Path) -> None:
    jobs = []
    for name in CASES:
        kind = CASES[name.removesuffix("_clean")].kind
        jobs += [(name, tool) for tool in TOOLS.get(kind, ["memcheck"])]
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda job: ask(job[1], job[0]), jobs))
    said: dict[str, dict[str, str]] = {}
    for (name, tool), answer in zip(jobs, answers, strict=True):
        said.setdefault(name, {})[tool.split()[0]] = answer
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    where = {
        "device": device,
        "driver": driver,
        "compute-sanitizer": re.search(r"Version ([\d.]+)", version)[1],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(answers)}" for name, answers in said.items())
    new = file.with_suffix(".new")
    new.write_text(f'{{"read": {json.dumps(where)}, "said": {{\n{rows}\n}}}}\n')
    new.replace(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
