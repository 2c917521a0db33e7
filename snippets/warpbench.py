"""Time and name: the one helper that the book's programs share.

It needs NumPy and PyCUDA only, so a reader can carry it along with a program.  A program

* says with :func:`needs` what the device must have and which packages it imports besides these two, or with
  :func:`measure_cpu` that it measures the CPU,
* gets its kernels with :func:`source` or :func:`module`,
* holds results against a reference with :func:`check`,
* measures with :func:`time`,
* names what it measured with :func:`value`, :func:`timing`, :func:`series` or :func:`spans`,
* and names what it computed and a page draws with :func:`matrix` or :func:`graph`.

If the environment variable WARPBENCH_OUT names a file, the names and the identity of the device are written there as
JSON when the program ends well; otherwise nothing is written.  On softcuda (a CUDA device made of software) the
programs run and check, but a time there says nothing about a GPU.  The file claims.toml beside the programs of an
article says what these values are expected to be.
"""

from __future__ import annotations

import atexit
import functools
import importlib.metadata
import importlib.util
import inspect
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 2  # raised when what is timed changes; records carry it
ROOT = Path(__file__).resolve().parent  # the folder snippets/
UNITS = ("s", "B/s", "B", "flop", "flop/s", "flop/B", "1/s", "Hz", "W", "%", "1", "count")
MOST_SPANS = 4096  # of one timeline: more is neither drawn nor read
MOST_NUMBERS, MOST_BITS = 64, 256  # rows, and columns, of one matrix: of numbers, and of zeros and ones
MOST_NODES, MOST_EDGES = 64, 1024  # of one graph
KINDS = ("start", "accept")  # what a node of a graph may be
SKIPPED = 77  # exit status of a program that the device cannot serve, or that lacks a package
# Where `make setup-torch` puts PyTorch and Triton: beside .venv, not in it. A variable, for tests and other places.
PACKAGES = Path(os.environ.get("WARPBENCH_PACKAGES") or ROOT.parent / ".cache" / "torch" / "packages")
PACKAGE_NAMES = {"torch": "PyTorch", "triton": "Triton"}  # that `needs` knows, as readers know them

_values: dict[str, dict[str, Any]] = {}
_series: dict[str, dict[str, Any]] = {}
_spans: dict[str, dict[str, Any]] = {}
_matrices: dict[str, dict[str, Any]] = {}
_graphs: dict[str, dict[str, Any]] = {}
_clocks: list[float] = []  # MHz of the multiprocessors, before each timed launch
_on_cpu = False  # whether what is measured is the CPU
packages_used: dict[str, str] = {}  # those asked for with needs(packages=…), and their versions


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
        "cuda": f"{cuda.get_driver_version() // 1000}.{cuda.get_driver_version() % 1000 // 10}",
        "compiler": _said("nvcc", "--version", match=r"release.*"),
        "python": platform.python_version(),
        "pycuda": pycuda.VERSION_TEXT,
        "numpy": numpy.__version__,
    }
    if is_gpu():  # softcuda's memory is what the machine can spare at the moment, and says nothing
        answer["memory_bytes"] = dev.total_memory()
        keys = ["driver_version", "clocks.max.sm", "clocks.max.mem", "power.limit"]
        query = [f"--query-gpu={','.join(keys)}", "--format=csv,noheader", f"--id={dev.pci_bus_id()}"]
        if line := _said("nvidia-smi", *query):
            answer |= dict(
                zip(("driver", "max_sm_clock", "max_memory_clock", "power_limit"), line.split(", "), strict=False)
            )
    return answer


def measure_cpu() -> None:
    """Say that this program measures the CPU and needs no GPU: its values are those of the machine's CPU.

    Call it once, before anything is recorded. Such a program is recorded and judged where there is no GPU.
    """
    global _on_cpu
    _on_cpu = True


@functools.cache
def cpu() -> dict[str, Any]:
    """Who computed, for a program that measures the CPU: name, cores that it may use, and versions where known."""
    import numpy

    try:
        said = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        said = ""
    found = re.search(r"^model name\s*:\s*(.+)$", said, re.MULTILINE)
    name = re.sub(r"\((?:R|TM)\)| CPU\b|\s*@.*", "", found[1]) if found else platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "name": f"{' '.join(name.split())}, {cores} {'core' if cores == 1 else 'cores'}",
        "softcuda": False,
        "cpu": platform.machine(),
        "compiler": _said("cc", "--version"),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
    }


def _said(*command: str, match: str = r".+") -> str | None:
    """The first line that `command` printed and `match` finds; None if it cannot be run."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(match, text)
    return found[0].strip() if found else None


class Skipped(SystemExit):
    """Ends a program, or a block of a page, that needs more than there is. `str()` says what."""

    def __init__(self, why: str) -> None:
        super().__init__(SKIPPED)
        self.why = why

    def __str__(self) -> str:
        return self.why


def needs(
    capability: str | None = None, *, memory: int = 0, gpu: bool = False, packages: str | Sequence[str] = ()
) -> None:
    """Go on only on a device of this compute capability ("8.0") or newer, with that many bytes of memory free.

    Where there is less, the program says so and ends with status 77; a page goes on with its next block.
    `gpu=True` keeps what only means something in hardware off softcuda.

    `packages`, "torch" or "triton" or both as ("torch", "triton"), are made importable: call this before they are
    imported. If they are not installed where the program runs, they come from where `make setup-torch` puts them, and
    where they are not there either the program ends as above. For packages alone no device is asked and no context
    needed. A record keeps their versions.
    """
    why = _lacking([packages] if isinstance(packages, str) else packages)
    if not why and (capability or memory or gpu):
        why = _short(capability, memory, gpu)
    if why:
        print(f"skipped: {why}", flush=True)
        raise Skipped(why)


def _short(capability: str | None, memory: int, gpu: bool) -> str:
    """What the device has too little of; empty for nothing."""
    import pycuda.driver as cuda

    dev = cuda.Context.get_device()
    have = dev.compute_capability()
    if capability and have < tuple(int(part) for part in capability.split(".")):
        return f"needs compute capability {capability}, and {dev.name()} has {have[0]}.{have[1]}"
    if memory > (free := cuda.mem_get_info()[0]):
        return f"needs {memory / 2**30:.3g} GiB of device memory, and {dev.name()} has {free / 2**30:.3g} free"
    return "needs a GPU" if gpu and not is_gpu() else ""


def _lacking(packages: Sequence[str]) -> str:
    """Make packages importable; what to install where they are not there, empty if all are."""
    if unknown := [name for name in packages if name not in PACKAGE_NAMES]:
        raise ValueError(f"package {unknown[0]!r} is none of {', '.join(PACKAGE_NAMES)}")
    if not all(map(_importable, packages)) and PACKAGES.is_dir() and str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))  # at the end: what .venv has, such as NumPy, comes from there
    if missing := [name for name in packages if not _importable(name)]:
        names = " and ".join(PACKAGE_NAMES[name] for name in PACKAGE_NAMES if name in missing)
        in_book = (ROOT.parent / "requirements-torch.lock").is_file()
        command = "make setup-torch" if in_book else f"pip install {' '.join(missing)}"
        return f"needs {names}, which `{command}` installs"
    for name in packages:
        packages_used[name] = _version(name)
    if "triton" in packages:  # as Triton 3.9 does and warns of, and as later versions do where it is asked for
        os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    return ""


def _importable(name: str) -> bool:
    if name in sys.modules:
        return True
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None  # snippets/triton, a folder of programs, has no origin


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


# --- Results ---------------------------------------------------------------------------------------------------------


def check(got: Any, want: Any, bound: Any = 0.0, what: str = "result") -> float:
    """Hold `got` against the reference `want`: every |got - want| must be at most `bound` (a number, or an array).

    Returns the worst error as a share of its bound (0 where both are 0). Raises AssertionError that names the worst
    element, also for NaN and for another shape; raises ValueError for a reference that cannot judge: an empty or
    infinite one, or one that is the result's own memory.
    """
    import numpy as np

    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise AssertionError(f"{what}: of shape {got.shape}, not {want.shape}")
    if not want.size:
        raise ValueError(f"{what}: an empty reference judges nothing")
    if np.shares_memory(got, want):
        raise ValueError(f"{what}: the reference is the result itself; compute it another way, or copy it before")
    exact = all(array.dtype.kind in "iub" for array in (got, want))
    wide = object if exact else np.result_type(got, want, np.float64)  # Python's integers do not wrap around
    if not exact and not np.isfinite(want).all():
        raise ValueError(f"{what}: the reference holds NaN or infinity")
    if exact and not np.any(bound) and np.array_equal(got, want):
        return 0.0  # the usual case of millions of integers, without a float for each
    limit = np.broadcast_to(np.asarray(bound), want.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        if exact and not np.any(limit):  # the usual case, without a Python object an element
            error = (got != want).astype(np.float64)
        else:
            error = np.abs(got.astype(wide) - want.astype(wide)).astype(np.float64)
    wrong = ~(error <= limit)  # true of NaN
    if wrong.any():
        worst = np.unravel_index(np.argmax(np.where(wrong, np.nan_to_num(error, nan=np.inf), -1.0)), want.shape)
        where = f" at {[int(i) for i in worst]}" if want.ndim else ""
        raise AssertionError(
            f"{what}: {got[worst]}{where}, not {want[worst]} within {limit[worst]:.3g}; {int(wrong.sum())} of "
            f"{want.size} are wrong"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(error / limit, nan=0.0).max())


# --- Time ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds a launch took on the device: the median of `repeats`, with the 10th and the 90th percentile."""

    median: float
    low: float
    high: float
    repeats: int


def rotation(nbytes: int) -> int:
    """How many buffers of `nbytes` (2 to 64) must take turns, so that the L2 holds nothing of the next one."""
    import pycuda.driver as cuda

    cache: int = cuda.Context.get_device().get_attribute(cuda.device_attribute.L2_CACHE_SIZE)
    return max(2, min(64, 1 + -(-2 * cache // max(1, nbytes))))


def time(
    launch: Callable[[int], object],
    *,
    repeats: int = 50,
    warmup: int = 5,
    poison: Callable[[int], object] | None = None,
    check: Callable[[int], object] | None = None,
) -> Timing:
    """Time launch(i) for i = 0, 1, … with one pair of events each.

    `launch` must only enqueue work on the default stream; it gets i so that it can rotate buffers (:func:`rotation`).
    `poison(i)` runs before it, outside the timed span, to spoil outputs or restore inputs; it must only enqueue too.
    `check(i)` raises if launch(i) left a wrong result: it is asked once before anything is timed, and of the last
    timed launch.  A kernel that just waits keeps the device busy while the host enqueues, so that the host's own time
    is not measured; it also tells the clock.
    On softcuda: 1 + 3 runs.
    """
    import numpy as np
    import pycuda.driver as cuda

    for name, function in (("launch", launch), ("poison", poison), ("check", check)):
        _takes_number(name, function)
    if check:
        if poison:
            poison(0)
        launch(0)
        cuda.Context.synchronize()
        check(0)
    hold = _holder() if is_gpu() else None
    if hold is None:
        repeats, warmup = min(repeats, 3), min(warmup, 1)
    events = [(cuda.Event(), cuda.Event()) for _ in range(warmup + repeats)]
    for i, (start, stop) in enumerate(events):
        if poison:
            poison(i)
        if hold:
            hold.wait(i)
        start.record()
        launch(i)
        stop.record()
    events[-1][1].synchronize()
    if check:
        check(warmup + repeats - 1)
    if hold:
        _clocks.extend(hold.clocks(range(warmup, warmup + repeats)))
    seconds = [stop.time_since(start) * 1e-3 for start, stop in events[warmup:]]
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return Timing(median, low, high, repeats)


def _takes_number(name: str, function: Callable[[int], object] | None) -> None:
    """Raise TypeError unless `function`, if there is one, can be called with the run's number."""
    try:
        if function is not None:
            inspect.signature(function).bind(0)
    except ValueError:
        return  # of C, without a signature
    except TypeError:
        raise TypeError(f"{name} takes the run's number: lambda i: …") from None


class _Hold:
    """A kernel of one thread that counts cycles for 100 µs, long enough for the host to enqueue what is timed."""

    TEXT = """
__global__ void hold(unsigned long long nanoseconds, unsigned *cycles) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    long long from = clock64();
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
    cycles[0] = (unsigned)(clock64() - from);
    cycles[1] = (unsigned)(now - start);
}
"""
    KEPT = 1024  # launches whose cycles are kept

    def __init__(self) -> None:
        import pycuda.driver as cuda
        from pycuda.compiler import SourceModule

        self.kernel = SourceModule(self.TEXT).get_function("hold")
        self.cycles = cuda.mem_alloc(8 * self.KEPT)

    def wait(self, i: int) -> None:
        import numpy as np

        at = np.uint64(int(self.cycles) + 8 * (i % self.KEPT))
        self.kernel(np.uint64(100_000), at, block=(1, 1, 1), grid=(1, 1))

    def clocks(self, launches: range) -> list[float]:
        """MHz during these waits."""
        import numpy as np
        import pycuda.driver as cuda

        pairs = np.empty((self.KEPT, 2), np.uint32)
        cuda.memcpy_dtoh(pairs, self.cycles)
        return [float(1e3 * pairs[i % self.KEPT, 0] / pairs[i % self.KEPT, 1]) for i in launches]


@functools.cache
def _holder() -> _Hold:
    return _Hold()


# --- Values ----------------------------------------------------------------------------------------------------------


NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


def _new(name: str, *units: str) -> str:
    """`name`, if it can be a new name and these are units."""
    if not NAME.fullmatch(name):
        raise ValueError(f"value name {name!r}: use lower-case letters, digits, _ and dots")
    if any(name in kept for kept in (_values, _series, _spans, _matrices, _graphs)):
        raise ValueError(f"value {name!r} is recorded twice")
    for unit in units:
        if unit not in UNITS:
            raise ValueError(f"value {name!r}: unit {unit!r} is none of {', '.join(UNITS)}")
    return name


def value(name: str, number: float, unit: str, spread: tuple[float, float] | None = None) -> None:
    """Record a measured number, such as value("v3.rate", 2.1e12, "B/s", (2.0e12, 2.2e12))."""
    if not math.isfinite(number):
        raise ValueError(f"value {name!r} is {number}")
    low, high = spread or (None, None)
    _values[_new(name, unit)] = {"value": float(number), "unit": unit, "low": low, "high": high}


def timing(name: str, t: Timing, nbytes: int | None = None, flop: int | None = None) -> None:
    """Record `name`.time in seconds and, for a launch that moves `nbytes` or does `flop`, `name`.rate, `name`.flops.

    On softcuda nothing is recorded: its times say nothing about a GPU.
    """
    if not is_gpu():
        return
    value(f"{name}.time", t.median, "s", (t.low, t.high))
    for what, work, unit in (("rate", nbytes, "B/s"), ("flops", flop, "flop/s")):
        if work is not None:
            value(f"{name}.{what}", work / t.median, unit, (work / t.high, work / t.low))


def series(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    *,
    x_unit: str,
    unit: str,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> None:
    """Record a measured curve, y over x: bandwidth over size, say. `low` and `high` bound the spread of each point.

    A page draws it with {{ chart:curve NAME }}, and several of the same units in one chart.
    """
    columns = {"x": x, "y": y, "low": low, "high": high}
    for column, numbers in columns.items():
        if numbers is not None and (len(numbers) != len(x) or not len(x) or not all(map(math.isfinite, numbers))):
            raise ValueError(f"series {name!r}: {column} must be as many finite numbers as x, and not none")
    kept = {column: [float(n) for n in numbers] for column, numbers in columns.items() if numbers is not None}
    _series[_new(name, x_unit, unit)] = {**kept, "x_unit": x_unit, "unit": unit}


def spans(name: str, spans: Iterable[Sequence[Any]], unit: str = "s") -> None:
    """Record a timeline: (row, start, stop) or (row, start, stop, label) for each stretch of work.

    A row is what did the work, a stream's name or the number of a multiprocessor; a label is what kind of work it was.
    Times are in seconds or, with unit="cycle", in cycles of one clock; they are kept from the earliest start on.
    A page draws it with {{ chart:timeline NAME }}.
    """
    if unit not in ("s", "cycle"):
        raise ValueError(f"spans {name!r}: unit {unit!r} is neither 's' nor 'cycle'")
    found = [(*span, "")[:4] if len(span) in (3, 4) else span for span in map(tuple, spans)]
    if not 0 < len(found) <= MOST_SPANS:
        raise ValueError(f"spans {name!r}: {len(found)} of them; give at least one and at most {MOST_SPANS}")
    for i, span in enumerate(found):
        where = f"spans {name!r}: number {i}, {span!r},"
        if len(span) != 4 or not isinstance(span[3], str):
            raise ValueError(f"{where} is not (row, start, stop) or (row, start, stop, label)")
        row, start, stop, _ = span
        if row == "" or not (isinstance(row, str) or hasattr(row, "__index__")):
            raise ValueError(f"{where} has a row that is neither a name nor a whole number")
        if not (math.isfinite(start) and math.isfinite(stop)):
            raise ValueError(f"{where} starts or stops at no finite time")
        if stop < start:
            raise ValueError(f"{where} stops before it starts")
    first = min(start for _, start, _, _ in found)
    _spans[_new(name)] = {
        "row": [row if isinstance(row, str) else int(row) for row, _, _, _ in found],
        "start": [float(start - first) for _, start, _, _ in found],  # subtracted first: a clock may count to 2^63
        "stop": [float(stop - first) for _, _, stop, _ in found],
        "label": [label for _, _, _, label in found],
        "unit": unit,
    }


def matrix(
    name: str,
    values: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    unit: str = "1",
) -> None:
    """Record a table of numbers, such as the weights of an attention; `rows` and `columns` name its lines.

    At most 64 × 64 numbers, of which four digits are kept; of truth values, or whole numbers that are all 0 or 1, at
    most 256 × 256.  A page draws it with {{ chart:heatmap NAME }}.
    """
    import numpy as np

    table = np.asarray(values)
    if table.ndim != 2 or not table.size or table.dtype.kind not in "biuf":
        raise ValueError(f"matrix {name!r}: give numbers in rows and columns, not {table.dtype} of shape {table.shape}")
    bits = table.dtype.kind != "f" and bool(((table == 0) | (table == 1)).all())
    most = MOST_BITS if bits else MOST_NUMBERS
    if max(table.shape) > most:
        what = "zeros and ones" if bits else "numbers"
        raise ValueError(f"matrix {name!r}: {what} of shape {table.shape}; at most {most} × {most} are kept")
    if not np.isfinite(table).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(table))[0]]
        raise ValueError(f"matrix {name!r}: {table[tuple(where)]} at {where}")
    for what, names, n in (("rows", rows, table.shape[0]), ("columns", columns, table.shape[1])):
        if names is not None and (len(names) != n or not all(isinstance(one, str) for one in names)):
            raise ValueError(f"matrix {name!r}: {what} must be {n} names")
    lines = [(("" if bits else " ").join(f"{int(x) if bits else x:.4g}" for x in line)) for line in table]
    kept = {"bits" if bits else "numbers": lines, "unit": unit}
    kept |= {what: list(names) for what, names in (("rows", rows), ("columns", columns)) if names is not None}
    _matrices[_new(name, unit)] = kept


def graph(name: str, nodes: Iterable[Sequence[Any]], edges: Iterable[Sequence[Any]]) -> None:
    """Record nodes and edges: an automaton, or who cites whom.

    A node is (id, label, kind) or (id, label, kind, weight); `kind` says in words whether it is "start" or "accept",
    both or neither (""), and a node's weight, such as its PageRank, is its size.  An edge is (from, to) or
    (from, to, label), with the ids of its ends.  A page draws it with {{ chart:graph NAME }}.
    """
    found = [
        (*node, *("", "", None)[len(node) - 1 :])[:4] if 0 < len(node) <= 4 else node for node in map(tuple, nodes)
    ]
    links = [(*edge, "")[:3] if len(edge) in (2, 3) else edge for edge in map(tuple, edges)]
    for what, number, most in (("nodes", len(found), MOST_NODES), ("edges", len(links), MOST_EDGES)):
        if number > most or (what == "nodes" and not number):
            raise ValueError(f"graph {name!r}: {number} {what}; give at most {most}, and at least one node")
    for i, node in enumerate(found):
        where = f"graph {name!r}: node {i}, {node!r},"
        if len(node) != 4 or not all(isinstance(text, str) for text in node[1:3]):
            raise ValueError(f"{where} is not (id, label, kind) or (id, label, kind, weight)")
        if not set(node[2].split()) <= set(KINDS):
            raise ValueError(f"{where} is of a kind that is none of {', '.join(KINDS)}")
        if node[3] is not None and not (math.isfinite(node[3]) and node[3] >= 0):
            raise ValueError(f"{where} weighs {node[3]}")
    ids = [str(node[0]) for node in found]
    if len(set(ids)) < len(ids):
        raise ValueError(f"graph {name!r}: node {next(n for n in ids if ids.count(n) > 1)!r} is there twice")
    if len({node[3] is None for node in found}) > 1:
        raise ValueError(f"graph {name!r}: some nodes have a weight, and some have none")
    for i, edge in enumerate(links):
        if len(edge) != 3 or not isinstance(edge[2], str):
            raise ValueError(f"graph {name!r}: edge {i}, {edge!r}, is not (from, to) or (from, to, label)")
        if missing := [str(end) for end in edge[:2] if str(end) not in ids]:
            raise ValueError(f"graph {name!r}: edge {i}, {edge!r}, has an end that is no node: {missing[0]!r}")
    kept: dict[str, Any] = {
        "nodes": [[n, label or n, *kind.split()] for n, (_, label, kind, _) in zip(ids, found, strict=True)],
        "edges": [[str(start), str(end), label] for start, end, label in links],
    }
    if found[0][3] is not None:
        kept["weights"] = [float(f"{node[3]:.4g}") for node in found]
    _graphs[_new(name)] = kept


def _write() -> None:
    """At exit: what was recorded into $WARPBENCH_OUT, whole or not at all; and the versions of packages."""
    target = os.environ.get("WARPBENCH_OUT")
    failed = hasattr(sys, "last_value")  # an exception ended the program (its exit status tells of sys.exit)
    drawn = {"spans": _spans, "matrices": _matrices, "graphs": _graphs}
    recorded = bool(_values or _series or any(drawn.values()))
    if not target or failed or not (recorded or packages_used):
        return
    told: dict[str, Any] = {"version": VERSION}
    if recorded:
        told |= {"device": cpu() if _on_cpu else device(), "values": _values, "series": _series}
        told |= {kind: kept for kind, kept in drawn.items() if kept}
    if packages_used:
        told["packages"] = packages_used
    if _clocks:
        ordered = sorted(_clocks)
        told["clocks"] = {"sm_lowest_mhz": round(ordered[0]), "sm_median_mhz": round(ordered[len(ordered) // 2])}
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=Path(target).resolve().parent, prefix=".warpbench")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(temporary, target)


atexit.register(_write)
