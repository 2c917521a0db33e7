"""softcuda against PoCL, vgre and Numba's simulator: one table, results checked against NumPy.

`make bench` calls it.

    bench/run.py [--cores N] [--rounds N] [--only NAME,...] [--json FILE]

The others live in an environment of their own, .cache/bench, from requirements.lock.  Contenders take turns on the same
cores, and each figure is the shortest run of all rounds.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OTHERS = ROOT / ".cache" / "bench"
LOCK = HERE / "requirements.lock"
KERNELS = ["sgemm", "transpose", "reduction", "histogram", "stencil"]


def others() -> Path:
    """The Python of the environment with the other contenders, made if the lock has changed."""
    python, stamp = OTHERS / "bin" / "python", OTHERS / "stamp"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        subprocess.run([sys.executable, "-m", "venv", "--clear", OTHERS], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "-r", LOCK]
        subprocess.run(install, check=True)
        stamp.write_text(digest)
    return python


def run(python: Path, script: str, arguments: list[str], cores: list[int], **environment: str) -> list[dict]:
    """Lines of results; a contender that fails says so and has none."""
    count = str(len(cores))
    threads = dict.fromkeys(["SOFTCUDA_THREADS", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"], count)
    done = subprocess.run(
        [python, HERE / script, *arguments],
        env=os.environ | threads | {"SOFTCUDA_QUIET": "1"} | environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    if done.returncode:
        print(f"{script} ended with {done.returncode}: left out", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def table(lines: list[dict], kernels: list[str]) -> None:
    """Fastest runs side by side, and the ratios that softcuda is held to."""
    best: dict[tuple[str, str], dict] = {}
    for line in lines:
        key = line["problem"], line["who"]
        rate = line["amount"] / line["seconds"]
        if key not in best or rate > best[key]["rate"]:
            best[key] = line | {"rate": rate}
    print(f"{'':12}{'size':>8}{'softcuda':>12}{'PoCL':>12}{'':>10}{'ratio':>7}{'shortest run':>15}")
    ratios = []
    for name in kernels:
        own, pocl = best.get((name, "softcuda")), best.get((name, "PoCL"))
        if not own or not pocl:
            continue
        ratios.append(own["rate"] / pocl["rate"])
        shortest = min(own["seconds"], pocl["seconds"]) * 1e3
        print(
            f"{name:12}{own['size']:>8}{own['rate']:12.2f}{pocl['rate']:12.2f}  {own['unit']:8}{ratios[-1]:7.2f}"
            f"{shortest:12.1f} ms"
        )
    if ratios:
        print(f"{'geometric mean':58}{math.exp(sum(map(math.log, ratios)) / len(ratios)):3.2f}")
    for who in ("vgre", "Numba's simulator"):
        if ("sgemm", who) in best and ("sgemm", "softcuda") in best:
            other = best["sgemm", who]
            ratio = best["sgemm", "softcuda"]["rate"] / other["rate"]
            print(f"sgemm: {who} {other['rate']:.2g} {other['unit']} (n = {other['size']}): softcuda is {ratio:,.0f} ×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(KERNELS))
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[-options.cores :]
    kernels = options.only.split(",")
    here, there = Path(sys.executable), others()

    lines = []
    for _ in range(options.rounds):
        lines += run(here, "on_softcuda.py", kernels, cores, SOFTCUDA="force")
        lines += run(there, "on_pocl.py", kernels, cores)
    if "sgemm" in kernels:
        lines += run(there, "on_vgre.py", ["sgemm:128"], cores)
        lines += run(there, "on_numba.py", ["sgemm:32"], cores, NUMBA_ENABLE_CUDASIM="1")
    start = run(here, "on_start.py", ["3"], cores, SOFTCUDA="force")
    print(f"{len(cores)} cores, {options.rounds} rounds")
    table(lines, kernels)
    for line in start:
        extra = (line["resident"] - line["bytes"]) / 1e6
        print(
            f"first kernel: cold {line['cold']:.2f} s, {line['cold'] / line['nvcc']:.2f} × nvcc's own "
            f"{line['nvcc']:.2f} s; "
            f"PyCUDA's cache warm {line['warm'] * 1e3:.1f} ms\n"
            f"memory: {extra:.0f} MB beside {line['bytes'] >> 20} MiB of device memory"
        )
    if options.json:
        options.json.write_text(json.dumps({"runs": lines, "start": start}, indent=1) + "\n")


if __name__ == "__main__":
    main()
