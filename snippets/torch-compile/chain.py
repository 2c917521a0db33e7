"""Ten operators as ten kernels or as one: the time of a call, what compiling cost, and after how many calls it paid.

python chain.py   check; on a GPU also time 2^26 elements, and 2^14, where the host is the limit
"""

import os
import tempfile
import time

CACHE = tempfile.TemporaryDirectory()  # empty: the first call compiles everything, Triton's part too
os.environ["TORCHINDUCTOR_CACHE_DIR"], os.environ["TRITON_CACHE_DIR"] = CACHE.name, CACHE.name + "/triton"

import pycuda.autoprimaryctx  # noqa: E402, F401  before warpbench, whose record is written while a context is left
import warpbench as wb  # noqa: E402
from _gate import case, hold, torch  # noqa: E402

LARGE, SMALL = (2**16, 1024), (64, 256)


# --8<-- [start:bytes]
def moved(rows, width):
    """Bytes of the ten kernels, and of the one: of 4-byte elements, each input read once, each result written once."""
    elements, vectors, columns = 4 * rows * width, 4 * width, 4 * rows
    ten = [2 * elements + vectors] * 2 + [2 * elements, 3 * elements, 3 * elements, 2 * elements]
    ten += [elements + columns, 2 * columns, 2 * columns, 2 * elements + columns]
    return sum(ten), 2 * elements + 2 * vectors


# --8<-- [end:bytes]


def first_call(model, x):
    """The compiled model, and the seconds of its first call."""
    torch._dynamo.reset()
    compiled = torch.compile(model)
    start = time.perf_counter()
    compiled(x)
    if x.is_cuda:
        torch.cuda.synchronize()
    return compiled, time.perf_counter() - start


def check(rows, width):
    """Returns the seconds of the compiled model's first call."""
    model, x = case(rows, width)
    compiled, seconds = first_call(model, x)
    for name, run in (("ten kernels", model), ("one kernel", compiled)):
        hold(model, x, run(x), name)
        print(f"{rows} × {width}, {name}: within the bound")
    return seconds


def on_device(name, run, model, x, nbytes):
    kept = {}

    def launch(i):
        kept["y"] = run(x)

    t = wb.time(launch, check=lambda i: hold(model, x, kept["y"], name))
    wb.timing(name, t, nbytes=nbytes)
    print(f"{name:8}{t.median * 1e6:10.1f} µs{nbytes / t.median / 1e12:7.2f} TB/s")
    return t.median


def per_call(run, x, calls=200):
    """Seconds of a call when the host does nothing but call: the median of 20 rows of calls."""
    seconds = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            run(x)
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - start) / calls)
    low, median, high = sorted(seconds)[1], sorted(seconds)[10], sorted(seconds)[18]
    return wb.Timing(median, low, high, len(seconds))


# --8<-- [start:pays]
def pays_after(compiling, before, after):
    """Calls until the time that compiling took has been saved."""
    return compiling / (before - after) if after < before else float("inf")


# --8<-- [end:pays]


def measure():
    model, x = case(*LARGE)
    compiled, compiling = first_call(model, x)
    wb.value("compile.time", compiling, "s")
    print(f"first call at this size: {compiling:.2f} s")
    y = torch.empty_like(x)
    on_copy = wb.time(lambda i: y.copy_(x))
    wb.timing("copy", on_copy, nbytes=2 * x.nbytes)
    ten, one = moved(*LARGE)
    eager = on_device("eager", model, model, x, ten)
    fused = on_device("fused", compiled, model, x, one)
    calls = pays_after(compiling, eager, fused)
    print(f"pays after this run: {calls:.0f} calls")
    if calls < float("inf"):
        wb.value("pays.calls", calls, "count")
    model, x = case(*SMALL)
    compiled, _ = first_call(model, x)
    graphed = torch.compile(model, mode="reduce-overhead")
    for _ in range(3):
        hold(model, x, graphed(x).clone(), "reduce-overhead")
    for name, run in (("eager", model), ("fused", compiled), ("graphed", graphed)):
        t = per_call(run, x)
        wb.timing(f"small.{name}", t)
        print(f"{SMALL[0]} × {SMALL[1]}, {name:8}{t.median * 1e6:8.1f} µs for each call")


if __name__ == "__main__":
    with torch.no_grad():
        start = check(*SMALL)
        check(37, 1000)
        if wb.is_gpu():
            wb.needs(memory=6 * 2**30)
            wb.value("start.time", start, "s")
            print(f"first call of the process: {start:.2f} s")
            measure()
        else:
            print("no GPU: nothing is timed")
