"""A hundred small kernels: launched one by one, or captured once in a CUDA graph and replayed.

PyCUDA has no CUDA graphs, so four functions of the driver are called through ctypes.

python graphs.py   check; on a GPU also capture, replay and time
"""

import ctypes
import time

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from pycuda import gpuarray

COUNT, N, A, B = 100, 4096, 0.5, 1.0
step = wb.module("torch-compile/tiny.cu").get_function("step")
step.prepare("Pffi")
stream = cuda.Stream()


# --8<-- [start:loop]
def launch_all(x):
    for _ in range(COUNT):
        step.prepared_async_call((N // 256, 1), (256, 1, 1), stream, x.gpudata, A, B, N)


# --8<-- [end:loop]
# --8<-- [start:capture]
class Graph:
    """What `record` enqueues on the stream, as one object that is launched at once."""

    RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

    def __init__(self, record):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.stream = ctypes.c_void_p(stream.handle)
        graph, self.graph = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(self.RELAXED))
        record()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(self.graph), graph, ctypes.c_ulonglong(0))

    def call(self, name, *arguments):
        if error := getattr(self.driver, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {error}")

    def replay(self):
        self.call("cuGraphLaunch", self.graph, self.stream)


# --8<-- [end:capture]


def check(run, what):
    """x ← x / 2 + 1, a hundred times: every step rounds as NumPy's does, since the product by 1/2 is exact."""
    start = np.random.default_rng().random(N, dtype=np.float32)
    x.set(start)
    run()
    stream.synchronize()
    want = start.copy()
    for _ in range(COUNT):
        want = np.float32(A) * want + np.float32(B)
    wb.check(x.get(), want, what=what)
    print(f"{COUNT} kernels, {what}: every bit as in NumPy")


def measure(name, run):
    seconds = []
    for _ in range(50):
        stream.synchronize()
        begin = time.perf_counter()
        run()
        stream.synchronize()
        seconds.append(time.perf_counter() - begin)
    low, median, high = (float(s) for s in np.percentile(seconds, [10, 50, 90]))
    wb.timing(name, wb.Timing(median, low, high, len(seconds)))
    print(f"{name:8}{median * 1e6:10.1f} µs, {median * 1e6 / COUNT:.2f} µs for each kernel")


if __name__ == "__main__":
    x = gpuarray.empty(N, np.float32)
    check(lambda: launch_all(x), "one by one")
    if wb.is_gpu():
        graph = Graph(lambda: launch_all(x))
        check(graph.replay, "replayed")
        measure("loop", lambda: launch_all(x))
        measure("replay", graph.replay)
        check(graph.replay, "replayed again")
    else:
        print("no GPU: softcuda has no CUDA graphs, and nothing is timed")
