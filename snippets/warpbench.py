"""Time, name and claim: the one helper that the book's programs share.

It needs NumPy and PyCUDA only, so a reader can carry it along with a program.  A program

* gets its kernels with :func:`source` or :func:`module`,
* measures with :func:`time`,
* names what it measured with :func:`value` or :func:`timing`,
* and says with :func:`claim` what ought to hold between two names.

If the environment variable WARPBENCH_OUT names a file, the names, the claims and the identity of the device are
written there as JSON when the program ends well; otherwise nothing is written.  On softcuda (a CUDA device made of
software) the programs run and check, but a time there says nothing about a GPU: claims are noted and never judged.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1  # raised when what is timed changes; records carry it
ROOT = Path(__file__).resolve().parent  # the folder snippets/
UNITS = ("s", "B/s", "B", "1", "count")

_values: dict[str, dict[str, Any]] = {}
_claims: dict[str, dict[str, Any]] = {}


# --- Kernels ---------------------------------------------------------------------------------------------------------


def source(path: str, **macros: object) -> str:
    """The CUDA source in snippets/`path`, with `macros` defined.

    Its lines keep the snippet's own name and numbers in compiler errors, line tables and profilers.
    """
    file = ROOT / path
    if not file.is_file():
        raise FileNotFoundError(f"snippets/{path}: no such kernel file")
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    return f'{defines}#line 1 "snippets/{path}"\n{file.read_text("utf-8")}'


def module(path: str, *, append: str = "", **macros: object) -> Any:
    """Compile snippets/`path` (and `append` after it) for the current device: a pycuda SourceModule.

    Kernels are found by their plain names if the file declares them `extern "C"`.
    """
    from pycuda.compiler import SourceModule

    return SourceModule(source(path, **macros) + append, options=["-lineinfo"], no_extern_c=True)


# --- The device ------------------------------------------------------------------------------------------------------


def is_gpu() -> bool:
    """Whether the current context is on a GPU. False on softcuda, where times mean nothing."""
    import pycuda.driver as cuda

    return "softcuda" not in cuda.Context.get_device().name().lower()


@functools.cache
def device() -> dict[str, Any]:
    """Who computed: device, capability, driver, compiler and library versions, clocks and power limit where known."""
    import numpy
    import pycuda
    import pycuda.driver as cuda

    dev = cuda.Context.get_device()
    answer: dict[str, Any] = {
        "name": dev.name(),
        "softcuda": not is_gpu(),
        "capability": "{}.{}".format(*dev.compute_capability()),
        "multiprocessors": dev.multiprocessor_count,
        "l2_bytes": dev.get_attribute(cuda.device_attribute.L2_CACHE_SIZE),
        "memory_bytes": dev.total_memory(),
        "cuda": f"{cuda.get_driver_version() // 1000}.{cuda.get_driver_version() % 1000 // 10}",
        "compiler": _said("nvcc", "--version", match=r"release.*"),
        "python": platform.python_version(),
        "pycuda": pycuda.VERSION_TEXT,
        "numpy": numpy.__version__,
    }
    if is_gpu():
        keys = ["driver_version", "clocks.max.sm", "clocks.max.mem", "power.limit"]
        query = [f"--query-gpu={','.join(keys)}", "--format=csv,noheader", f"--id={dev.pci_bus_id()}"]
        if line := _said("nvidia-smi", *query):
            answer |= dict(
                zip(("driver", "max_sm_clock", "max_memory_clock", "power_limit"), line.split(", "), strict=False)
            )
    return answer


def _said(*command: str, match: str = r".+") -> str | None:
    """The first line that `command` printed and `match` finds; None if it cannot be run."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(match, text)
    return found[0].strip() if found else None


# --- Time ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds a launch took on the device: the median of `repeats`, with the 10th and the 90th percentile."""

    median: float
    low: float
    high: float
    repeats: int


def time(
    launch: Callable[[int], object],
    *,
    repeats: int = 50,
    warmup: int = 5,
    poison: Callable[[int], object] | None = None,
) -> Timing:
    """Time launch(i) for i = 0, 1, … with one pair of events each.

    `launch` must only enqueue work on the default stream; it gets i so that it can rotate buffers.  `poison(i)` runs
    before it, outside the timed span, to spoil outputs or restore inputs; it must only enqueue too.  A kernel that just
    waits keeps the device busy while the host enqueues, so that the host's own time is not measured.
    On softcuda: 1 + 3 runs.
    """
    import numpy as np
    import pycuda.driver as cuda

    hold = _holder() if is_gpu() else None
    if hold is None:
        repeats, warmup = min(repeats, 3), min(warmup, 1)
    events = [(cuda.Event(), cuda.Event()) for _ in range(warmup + repeats)]
    for i, (start, stop) in enumerate(events):
        if poison:
            poison(i)
        if hold:
            hold()
        start.record()
        launch(i)
        stop.record()
    events[-1][1].synchronize()
    seconds = [stop.time_since(start) * 1e-3 for start, stop in events[warmup:]]
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return Timing(median, low, high, repeats)


@functools.cache
def _holder() -> Callable[[], None]:
    """A kernel of one thread that waits 100 µs: long enough for the host to enqueue what is timed."""
    import numpy as np
    from pycuda.compiler import SourceModule

    text = """
__global__ void hold(unsigned long long nanoseconds) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}
"""
    kernel = SourceModule(text).get_function("hold")
    return lambda: kernel(np.uint64(100_000), block=(1, 1, 1), grid=(1, 1))


# --- Values and claims -----------------------------------------------------------------------------------------------


def value(name: str, number: float, unit: str, spread: tuple[float, float] | None = None) -> None:
    """Record a measured number, such as value("v3.rate", 2.1e12, "B/s", (2.0e12, 2.2e12))."""
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", name):
        raise ValueError(f"value name {name!r}: use lower-case letters, digits, _ and dots")
    if name in _values:
        raise ValueError(f"value {name!r} is recorded twice")
    if unit not in UNITS:
        raise ValueError(f"value {name!r}: unit {unit!r} is none of {', '.join(UNITS)}")
    if number != number:
        raise ValueError(f"value {name!r} is NaN")
    low, high = spread or (None, None)
    _values[name] = {"value": float(number), "unit": unit, "low": low, "high": high}


def timing(name: str, t: Timing, nbytes: int | None = None) -> None:
    """Record `name`.time in seconds and, if the launch moved `nbytes`, `name`.rate in bytes a second."""
    value(f"{name}.time", t.median, "s", (t.low, t.high))
    if nbytes is not None:
        value(f"{name}.rate", nbytes / t.median, "B/s", (nbytes / t.high, nbytes / t.low))


def claim(
    name: str,
    *,
    en: str,
    zh: str,
    ratio: Sequence[str] | None = None,
    value: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    predicted: float | None = None,
    source: str | None = None,
    source_zh: str | None = None,
) -> None:
    """State, in both languages, what holds of one value or of the ratio of two; on a GPU they are recorded before.

    `at_least` / `at_most` is the gate that the records are tested against; `predicted` is what a count gave before
    anything was run, and `source` says which count, or who published the figure (`source_zh`: in Chinese).
    """
    if (ratio is None) == (value is None):
        raise ValueError(f"claim {name!r}: give either ratio=(a, b) or value=a")
    if at_least is None and at_most is None:
        raise ValueError(f"claim {name!r}: give a gate, at_least= or at_most=")
    if name in _claims:
        raise ValueError(f"claim {name!r} is made twice")
    missing = [n for n in (*(ratio or ()), value) if n and n not in _values]
    if missing and is_gpu():
        raise ValueError(f"claim {name!r}: no value {missing[0]!r} has been recorded")
    _claims[name] = {
        "en": en,
        "zh": zh,
        "ratio": list(ratio) if ratio else None,
        "value": value,
        "at_least": at_least,
        "at_most": at_most,
        "predicted": predicted,
        "source": source,
        "source_zh": source_zh,
    }


def _write() -> None:
    """At exit: values, claims and device into $WARPBENCH_OUT, whole or not at all."""
    target = os.environ.get("WARPBENCH_OUT")
    failed = hasattr(sys, "last_value")  # an exception ended the program (its exit status tells of sys.exit)
    if not target or failed or not (_values or _claims):
        return
    text = json.dumps(
        {"version": VERSION, "device": device(), "values": _values, "claims": _claims}, indent=1, ensure_ascii=False
    )
    handle, temporary = tempfile.mkstemp(dir=Path(target).resolve().parent, prefix=".warpbench")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(temporary, target)


atexit.register(_write)
