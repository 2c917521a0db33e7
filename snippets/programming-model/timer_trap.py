"""Three clocks on one kernel: the host's without waiting, the host's with, and events. And the first launch.

python timer_trap.py               check; on a GPU also time a long kernel and a short one, and draw two timelines
python timer_trap.py --cold FILE   load the module in FILE in a fresh process; prints how long each first took, as JSON
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from steps import BLOCK, A, C, Steps, closed_form

GPU = wb.is_gpu()
LONG = 4_000_000 if GPU else 200  # rounds
PROCESSES = 7


def spread(seconds: list[float]) -> wb.Timing:
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return wb.Timing(median, low, high, len(seconds))


# --8<-- [start:clocks]
def unsynced(launch: Callable[[], object]) -> float:
    """The trap: the clock stops when the launch is queued."""
    cuda.Context.synchronize()
    start = time.perf_counter()
    launch()
    return time.perf_counter() - start


def synced(launch: Callable[[], object]) -> float:
    """Wait before the clock starts, and before it stops."""
    cuda.Context.synchronize()
    start = time.perf_counter()
    launch()
    cuda.Context.synchronize()
    return time.perf_counter() - start


def events(launch: Callable[[], object]) -> float:
    """The device notes the time when it comes to each event."""
    start, stop = cuda.Event(), cuda.Event()
    cuda.Context.synchronize()
    start.record()
    launch()
    stop.record()
    stop.synchronize()
    return stop.time_since(start) * 1e-3  # milliseconds, says the driver


# --8<-- [end:clocks]


def clocks(work: Steps) -> None:
    for label, rounds, repeats in (("long", LONG, 20), ("short", 1, 200)):
        times = {}
        for clock in (unsynced, synced, events):
            work.poison()
            seconds = [clock(partial(work.launch, rounds)) for _ in range(repeats + 5)][5:]
            work.check(rounds)
            times[clock.__name__] = spread(seconds)
        times["held"] = work.timed(rounds, repeats)
        print(f"\n{label} kernel, {rounds:,} steps")
        for name, t in times.items():
            wb.timing(f"{label}.{name}", t)
            print(f"  {name:10}{t.median * 1e6:12.1f} µs")


# --8<-- [start:cold]
def cold(file: str) -> dict:
    """How long each first thing takes in this process: module, kernel, launch, launch of another kernel."""
    x = np.random.default_rng().integers(0, 2**32, 1000, dtype=np.uint32)
    source, out = cuda.to_device(x), cuda.mem_alloc(x.nbytes)
    cuda.Context.synchronize()
    took, at = {}, time.perf_counter()

    def lap(name: str) -> None:
        nonlocal at
        now = time.perf_counter()
        took[name], at = now - at, now

    def launch(kernel: cuda.Function) -> None:
        kernel(source, out, *map(np.uint32, (A, C, 1, 1000)), block=(BLOCK, 1, 1), grid=(8, 1))
        cuda.Context.synchronize()

    module = cuda.module_from_buffer(Path(file).read_bytes())
    lap("module")
    steps = module.get_function("steps")
    lap("get_function")
    launch(steps)
    lap("first")
    launch(steps)
    lap("second")
    other = module.get_function("steps_too")
    at = time.perf_counter()
    launch(other)
    lap("first_of_another")
    for _ in range(100):
        launch(steps)
    lap("hundred")
    cuda.memset_d32(out, 0, 1000)
    launch(other)
    got = np.empty_like(x)
    cuda.memcpy_dtoh(got, out)
    wb.check(got, closed_form(x, 1), what="steps in a fresh process")
    return took


# --8<-- [end:cold]


def first_launches() -> None:
    """In fresh processes, with modules loaded lazily (the default) and eagerly."""
    from pycuda.compiler import compile as nvcc

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "steps.cubin")
        file.write_bytes(nvcc(wb.source("programming-model/steps.cu"), no_extern_c=True))
        for mode in ("LAZY", "EAGER") if GPU else ("LAZY",):
            laps: list[dict] = []
            for _ in range(PROCESSES if GPU else 1):
                done = subprocess.run(
                    [sys.executable, os.path.abspath(__file__), "--cold", str(file)],
                    env={**os.environ, "CUDA_MODULE_LOADING": mode},
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
                if done.returncode:
                    raise RuntimeError(done.stderr)
                laps.append(json.loads(done.stdout.splitlines()[-1]))
            print(f"\n{mode}: a module's firsts, in {len(laps)} fresh processes" if GPU else "a fresh process: exact")
            if GPU:
                times = {name: spread([lap[name] for lap in laps]) for name in laps[0]}
                times["steady"] = spread([lap["hundred"] / 100 for lap in laps])
                for name, t in times.items():
                    if name != "hundred":
                        wb.timing(f"{mode.lower()}.{name}", t)
                        print(f"  {name:18}{t.median * 1e6:12.1f} µs ({t.low * 1e6:.1f} µs to {t.high * 1e6:.1f} µs)")


# --8<-- [start:timeline]
def timeline(work: Steps, rounds: int, wait_each: bool) -> list[tuple]:
    """Five launches and 150 µs of the host's own work, as (row, start, stop, label) on one clock."""
    spans, marks = [], [(cuda.Event(), cuda.Event()) for _ in range(5)]
    zero = cuda.Event()
    cuda.Context.synchronize()
    before = time.perf_counter()
    zero.record()
    zero.synchronize()
    origin = (before + time.perf_counter()) / 2  # when the device came to `zero`, within a few µs

    def on_host(label: str, action: Callable[[], object]) -> None:
        start = time.perf_counter()
        action()
        spans.append(("host", start - origin, time.perf_counter() - origin, label))

    for start, stop in marks:
        start.record()
        on_host("launch", lambda: work.launch(rounds))
        stop.record()
        if wait_each:
            on_host("wait", stop.synchronize)
    on_host("own work", lambda: busy(150e-6))
    on_host("wait", cuda.Context.synchronize)
    for start, stop in marks:
        spans.append(("device", start.time_since(zero) * 1e-3, stop.time_since(zero) * 1e-3, "kernel"))
    return spans


# --8<-- [end:timeline]


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def timelines(work: Steps, rounds: int = 24_000) -> None:
    for name, wait_each in (("queued", False), ("waiting", True)):
        for _ in range(20):  # the last of twenty is drawn: by then everything is warm
            work.poison()
            spans = timeline(work, rounds, wait_each)
            work.check(rounds)
        first = min(start for _, start, _, _ in spans)
        wb.spans(f"timeline.{name}", [(row, start - first, stop - first, label) for row, start, stop, label in spans])
        total = max(stop for _, _, stop, _ in spans) - first
        kernels = sum(stop - start for row, start, stop, _ in spans if row == "device")
        wb.value(f"timeline.{name}.total", total, "s")
        wb.value(f"timeline.{name}.kernels", kernels, "s")
        print(f"{name:8}{total * 1e6:8.1f} µs in all, of these kernels {kernels * 1e6:8.1f} µs")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cold"]:
        print(json.dumps(cold(sys.argv[2])))
    else:
        work = Steps()
        for rounds in (0, 1, 31, LONG):
            work.run(rounds)
        print(f"{work.n:,} threads, exact after 0, 1, 31 and {LONG:,} steps")
        if GPU:
            clocks(work)
            timelines(work)
        first_launches()
        if not GPU:
            print("no GPU: nothing is timed")
