"""softcuda against PoCL, vgre and Numba's simulator, and what `softcuda profile` and `softcuda check` cost, against the
plain run and against Oclgrind: tables, results checked against NumPy.

`make bench` calls it.

    bench/run.py [--cores N] [--rounds N] [--only NAME,...] [--json FILE]

Oclgrind is taken if it is installed (Debian: apt-get install oclgrind).  The others live in an environment of their
own, .cache/bench, from requirements.lock.  Contenders take turns on the same cores, and each figure is the shortest run
of all rounds.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OTHERS = ROOT / ".cache" / "bench"
LOCK = HERE / "requirements.lock"
KERNELS = ["sgemm", "transpose", "reduction", "histogram", "stencil"]
# The inspector is timed on less of the same; a whole one on the data at hand takes a tenth of a second.
INSPECTED = {"sgemm": 256, "transpose": 1024, "reduction": 1 << 20, "histogram": 1 << 20, "stencil": 1024}
MODES = {"run": 1, "profile": 4, "check": 10}  # times the plain run that each may take
OCLGRIND_SIZE = 64


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


def run(
    python: Path,
    script: str,
    arguments: list[str],
    cores: list[int],
    under: list[str] | None = None,
    **environment: str,
) -> list[dict]:
    """Lines of results; a contender that fails says so and has none.  `under`: a command that runs the program."""
    count = str(len(cores))
    threads = dict.fromkeys(["SOFTCUDA_THREADS", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"], count)
    done = subprocess.run(
        [*(under or [python]), HERE / script, *arguments],
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


def inspected(here: Path, kernels: list[str], cores: list[int]) -> list[dict]:
    """A plain run, one that is profiled and one that is checked, on all cores and on one."""
    lines = []
    problems = [f"{name}:{INSPECTED[name]}" for name in kernels]
    for used in {len(cores): cores, 1: cores[:1]}.values():
        for mode in MODES:
            under = [str(here), "-m", "softcuda", mode]
            found = run(here, "on_softcuda.py", problems, used, under)
            lines += [line | {"mode": mode, "cores": len(used)} for line in found]
    return lines


def oclgrind(there: Path, cores: list[int]) -> list[dict]:
    """Alone, and with what comes nearest to a check and to a profile."""
    if not shutil.which("oclgrind"):
        print("Oclgrind is not installed (apt-get install oclgrind): left out", file=sys.stderr)
        return []
    lines = []
    for flag in ("", "--data-races", "--inst-counts"):
        who = f"Oclgrind {flag}".strip()
        command = ["oclgrind", "--num-threads", str(len(cores)), *([flag] if flag else []), str(there)]
        lines += run(there, "on_opencl.py", ["Oclgrind", who, f"sgemm:{OCLGRIND_SIZE}"], cores, command)
    return lines


def fastest(lines: list[dict]) -> dict[tuple, dict]:
    """By problem, mode and cores; on one core it is the CPU's time that counts, which is told with less noise."""
    best: dict[tuple, dict] = {}
    for line in lines:
        key = line["problem"], line["mode"], line["cores"]
        seconds = line["cpu"] if line["cores"] == 1 else line["seconds"]
        if key not in best or seconds < best[key]["seconds"]:
            best[key] = line | {"seconds": seconds}
    return best


def inspection_table(lines: list[dict], kernels: list[str]) -> None:
    """What watching costs, in times of the plain run on as many cores."""
    best = fastest(lines)
    for cores in sorted({line["cores"] for line in lines}):
        print(f"\n{cores} core{'s' * (cores > 1)}, {'ms':14}{'plain run':>12}{'profile':>18}{'check':>18}")
        for name in kernels:
            row = [best.get((name, mode, cores)) for mode in MODES]
            if None in row:
                continue
            plain, *watched = [line["seconds"] for line in row if line]
            cells = "".join(f"{1e3 * s:10.1f}{s / plain:6.1f} ×" for s in watched)
            print(f"{name:12}{row[0]['size']:>10}{1e3 * plain:11.1f}{cells}")
    print(f"allowed: {MODES['profile']} × and {MODES['check']} ×")


def oclgrind_table(grinds: list[dict], watched: list[dict]) -> None:
    """softcuda's rate on the same SGEMM, against Oclgrind's."""
    best = fastest(watched)
    cores = max((line["cores"] for line in watched), default=0)
    for line in grinds:
        mode = {"Oclgrind --data-races": "check", "Oclgrind --inst-counts": "profile"}.get(line["who"], "run")
        own = best.get(("sgemm", mode, cores))
        if not own:
            continue
        rate, other = own["amount"] / own["seconds"], line["amount"] / line["seconds"]
        print(
            f"sgemm: {line['who']} {other:.2g} {line['unit']} (n = {line['size']}): "
            f"softcuda {mode} is {rate / other:,.0f} ×"
        )


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

    lines: list[dict] = []
    watched: list[dict] = []
    grinds: list[dict] = []
    for _ in range(options.rounds):
        lines += run(here, "on_softcuda.py", kernels, cores, SOFTCUDA="force")
        lines += run(there, "on_opencl.py", ["Portable Computing Language", "PoCL", *kernels], cores)
        watched += inspected(here, kernels, cores)
    if "sgemm" in kernels:
        lines += run(there, "on_vgre.py", ["sgemm:128"], cores)
        lines += run(there, "on_numba.py", ["sgemm:32"], cores, NUMBA_ENABLE_CUDASIM="1")
        grinds = oclgrind(there, cores)
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
    inspection_table(watched, kernels)
    oclgrind_table(grinds, watched)
    if options.json:
        figures = {"runs": lines, "start": start, "inspected": watched, "oclgrind": grinds}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
