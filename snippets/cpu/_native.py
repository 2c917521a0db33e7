"""C for the host: compile a file of this folder with the system's compiler, and load it with ctypes."""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

# -O2 with the vectoriser, not -O3, which may exchange loops: the order of loops is what we want to compare.
FLAGS = ("-O2", "-ftree-vectorize", "-march=native", "-fopenmp", "-std=gnu11")
SCALAR = ("-fno-tree-vectorize", "-fno-tree-slp-vectorize")


def compiler() -> str:
    """The system's C compiler. nvcc needs one too, so it is there wherever this book's kernels compile."""
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit("no C compiler: install gcc (Debian and Ubuntu: apt install g++)")
    return found


def compile_c(name: str, *options: str) -> bytes:
    """What the compiler makes of the C file beside this one: its only output file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        command = [compiler(), *FLAGS, *options, "-o", str(out), str(Path(__file__).with_name(name))]
        subprocess.run(command, check=True, timeout=120)
        return out.read_bytes()


def library(name: str, *options: str) -> ctypes.CDLL:
    """The file, compiled and loaded. Arrays are passed with `pointer`, sizes as ctypes.c_int64."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "built.so")
        built.write_bytes(compile_c(name, "-shared", "-fPIC", *options))
        return ctypes.CDLL(str(built))


def assembly(name: str, *options: str) -> str:
    """What the compiler makes of the file, as text."""
    return compile_c(name, "-S", *options).decode()


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def size(number: int) -> ctypes.c_int64:
    return ctypes.c_int64(number)


# --8<-- [start:interleaved]
def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int, limit: float = 5.0) -> dict[str, list[float]]:
    """Seconds of each way, sorted. Each round runs every way once, so a busy moment of the machine hits them all.

    We compare the shortest times: another program on this machine can only make a run longer. On a machine so busy that
    `limit` seconds pass, there are fewer rounds, but at least five.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    begin = time.perf_counter()
    for i in range(rounds):
        if i >= 5 and time.perf_counter() - begin > limit:
            break
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: sorted(taken) for name, taken in seconds.items()}


# --8<-- [end:interleaved]
