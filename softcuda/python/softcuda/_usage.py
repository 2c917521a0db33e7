"""What the `softcuda` commands take, what their help says, and what is refused before a program is run."""

from __future__ import annotations

import sys
from pathlib import Path

USAGE = {
    "run": "softcuda run [--seed N] [-m] PROGRAM [ARGUMENTS...]",
    "profile": "softcuda profile [--json FILE] [-m] PROGRAM [ARGUMENTS...]",
    "check": "softcuda check [--json FILE] [--sarif FILE] [--github] [--strict] [--seed N] [-m] PROGRAM [ARGUMENTS...]",
    "trace": "softcuda trace --kernel NAME [--block X[,Y[,Z]]] [--launch N] [--steps N] [-o FILE] [-m] PROGRAM"
    " [ARGUMENTS...]",
    "info": "softcuda info",
    "install-pycuda": "softcuda install-pycuda [--reinstall] [--no-build-isolation]",
}
SEED = "--seed N        shuffle the order of warps and blocks; 0: do not"
JSON = "--json FILE     write JSON into FILE and no table"
MODULE = "-m              PROGRAM is a module, as with python -m"
HELP = {
    "run": ("Run a program on softcuda, whatever the machine has.", SEED, MODULE),
    "profile": ("Run a program and count what its launches asked of the hardware, by source line.", JSON, MODULE),
    "check": (
        "Run a program and look for races, uninitialised reads, barriers that not every thread reaches, and the like.",
        JSON,
        "--sarif FILE    also write the findings into FILE as SARIF 2.1.0, with the project's files and lines",
        "--github        also print each finding as an annotation for GitHub Actions",
        "--strict        findings in kernels that PyCUDA generates count, too",
        SEED,
        MODULE,
    ),
    "trace": (
        "Run a program and write down what each step of one block does, as JSON.",
        "--kernel NAME   whose launch",
        "--block X,Y,Z   of its blocks this one; without it the first",
        "--launch N      the Nth launch of that kernel; without it the first",
        "--steps N       at most N steps; without it 20,000",
        "-o FILE         into FILE; without it NAME.trace.json",
        MODULE,
    ),
    "info": ("Print what a program would run on, and why.",),
    "install-pycuda": (
        "Build PyCUDA from its sources, install it into this environment and run a kernel with it.",
        "--reinstall           also where a PyCUDA is installed that runs",
        "--no-build-isolation  build with the setuptools and the NumPy of this environment",
    ),
}  # fmt: skip


def help_on(command: str) -> str:
    about, *options = HELP[command]
    return "\n".join([f"usage: {USAGE[command]}", "", about, *[""] * bool(options), *(f"  {one}" for one in options)])


def help_on_all() -> str:
    lines = [f"  {command:<15} {HELP[command][0]}" for command in USAGE]
    return "\n".join(
        [
            "A CUDA device made of software.",
            "",
            *("usage: " * (i == 0) + " " * 7 * (i > 0) + usage for i, usage in enumerate(USAGE.values())),
            "       softcuda --version",
            "",
            *lines,
            "",
            "softcuda COMMAND --help shows a command's options.",
        ]
    )


def not_python(program: Path) -> str:
    """What to say if `program` is not one that Python can run; empty if it is."""
    if not program.is_file():
        return f"no program {program}"
    if program.suffix in (".cu", ".cuh", ".ptx", ".cubin", ".fatbin"):
        return (
            f"{program} is no Python program; a kernel is started from one, with pycuda.compiler.SourceModule "
            "(CUDA C++) or pycuda.driver.module_from_file (PTX)"
        )
    with program.open("rb") as file:
        start = file.read(1024)
    if start.startswith(b"\x7fELF"):
        return (
            f"{program} is a compiled program; what nvcc links brings machine code for GPUs and the CUDA runtime, "
            "which softcuda cannot run: start its kernels from Python, with pycuda.compiler.SourceModule"
        )
    if b"\0" in start and not start.startswith(b"PK"):  # a zip file may be a Python program
        return f"{program} is no Python program"
    return ""


def check_program(command: str, arguments: list[str]) -> None:
    """End with one line if `[-m] PROGRAM ...` names none that can run."""
    module = arguments[:1] == ["-m"]
    arguments = arguments[module:]
    if not module and arguments and arguments[0].startswith("-"):
        sys.exit(f"softcuda: {command} has no option {arguments[0]}; softcuda {command} --help shows those it has")
    if not arguments:
        sys.exit(f"softcuda: {command} what? softcuda {command} program.py, or softcuda {command} -m module")
    if not module and (mistake := not_python(Path(arguments[0]))):
        sys.exit(f"softcuda: {mistake}")


def check_seed(arguments: list[str]) -> None:
    """End with one line if `--seed N ...` has no seed."""
    seed = "".join(arguments[1:2])
    if not seed.isdecimal() or len(seed) > 20 or int(seed) >= 2**64:
        sys.exit(f"softcuda: --seed {seed} is not a whole number below 2**64 (0: no shuffling)")
