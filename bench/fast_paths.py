"""What each of softcuda's fast paths gains: how many times as long kernels take on one core without it, as a table.

    bench/fast_paths.py [--rounds N] [--only NAME,...]

The figures of softcuda/src/machine/README.md are these.  It is the CPU's time that counts; runs with everything,
without one path and at a lower SIMD level take turns, and each figure is the median over the rounds: the machine need
not be quiet.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from problems import PROBLEMS
from run import run

PATHS = ["lockstep", "affine", "hoisting", "dots", "plans", "registers"]
CHOICES = {
    "all": {},
    **{f"no-{path}": {"SOFTCUDA_OPTIMISE": f"no-{path}"} for path in PATHS},
    "none": {"SOFTCUDA_OPTIMISE": "none"},
    "avx2": {"SOFTCUDA_SIMD": "avx2"},
    "generic": {"SOFTCUDA_SIMD": "generic"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PROBLEMS))
    options = parser.parse_args()
    kernels = options.only.split(",")
    core = sorted(os.sched_getaffinity(0))[-1:]

    ratios: dict[tuple[str, str], list[float]] = {}
    for number in range(options.rounds):
        seconds: dict[tuple[str, str], float] = {}
        for choice in CHOICES if number % 2 == 0 else reversed(CHOICES):
            lines = run(Path(sys.executable), "on_softcuda.py", kernels, core, SOFTCUDA="force", **CHOICES[choice])
            seconds |= {(choice, line["problem"]): line["cpu"] for line in lines}
        for (choice, kernel), cpu in seconds.items():
            ratios.setdefault((choice, kernel), []).append(cpu / seconds["all", kernel])
    print(f"{'':15}" + "".join(f"{kernel:>11}" for kernel in kernels))
    for choice in list(CHOICES)[1:]:
        cells = (f"{statistics.median(ratios[choice, kernel]):9.2f} ×" for kernel in kernels)
        print(f"{choice:15}" + "".join(cells))


if __name__ == "__main__":
    main()
