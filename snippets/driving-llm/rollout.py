"""Drive many scenes at once: the kernels beside float64, what mixed warps cost, and on a GPU the time beside NumPy.

python rollout.py             check; on a GPU also time 2^20 drives
python rollout.py --profile   launch each kernel once for a profiler
"""

import sys
import time

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _drive import CUT_IN, FREE, STEPS, Scenes, draw, roll_out

INPUTS = ("v", "y", "psi", "curvature", "gap", "lead_v", "hardness", "enters", "brakes", "kind")
OUTPUTS = ("s", "y", "v", "gap", "hit")
WAYS = {"mixed": "rollout_mixed", "sorted": "rollout_sorted", "flat": "rollout_flat"}


class Fleet:
    """Scenes and results on the device. `arrange` puts scenes of one kind side by side for the sorted launch."""

    def __init__(self, scenes: Scenes, steps: int = STEPS) -> None:
        self.scenes, self.steps, self.n = scenes, steps, len(scenes.v)
        self.module = wb.module("driving-llm/rollout.cu")
        self.order = np.argsort(scenes.kind, kind="stable")
        self.inputs = {"given": self.upload(scenes), "by kind": self.upload(scenes.take(self.order))}
        self.out = [cuda.mem_alloc(4 * self.n) for _ in OUTPUTS]

    def upload(self, scenes: Scenes) -> list:
        return [cuda.to_device(np.ascontiguousarray(getattr(scenes, name))) for name in INPUTS]

    def poison(self, _: int = 0) -> None:
        for array in self.out:
            cuda.memset_d32_async(array, 0x7FC00000, self.n)

    def launch(self, way: str) -> None:
        arrays = self.inputs["by kind" if way == "sorted" else "given"]
        out, given = (np.array([int(a) for a in group], np.uint64) for group in (self.out, arrays))
        kernel = self.module.get_function(WAYS[way])
        kernel(out, given, np.int32(self.steps), np.int32(self.n), block=(256, 1, 1), grid=(-(-self.n // 256), 1))

    def results(self, way: str) -> dict[str, np.ndarray]:
        found = {}
        for name, array in zip(OUTPUTS, self.out, strict=True):
            host = np.empty(self.n, np.int32 if name == "hit" else np.float32)
            cuda.memcpy_dtoh(host, array)
            if way == "sorted":
                host[self.order] = host.copy()
            found[name] = host
        return found


# --8<-- [start:check]
def check(fleet: Fleet, way: str, most: int = 4096) -> int:
    """Hold some drives, or all, against float64. Returns how many are too close to a collision to compare."""
    at = np.unique(np.linspace(0, fleet.n - 1, min(most, fleet.n)).astype(int))
    got, want = fleet.results(way), roll_out(fleet.scenes.take(at), steps=fleet.steps)
    got = {name: numbers[at] for name, numbers in got.items()}
    clear = np.abs(np.where(want["hit"] < 0, want["gap"], 1)) > 2e-2
    close = (got["hit"] != want["hit"]) & (np.abs(got["hit"] - want["hit"]) <= 1) | ~clear
    assert close.sum() <= max(2, len(at) // 200), f"{way}: {close.sum()} drives cannot be compared"
    for name in ("s", "y", "v", "gap", "hit"):
        bound = 0 if name == "hit" else 1e-4 * (1 + np.abs(want[name][~close]))
        if name == "gap":  # the difference of two positions, which are rounded at every step
            bound += 1e-5 * np.abs(want["s"][~close])
        wb.check(got[name][~close], want[name][~close], bound, f"{way}, {name} of {fleet.n}")
    return int(close.sum())


# --8<-- [end:check]


def numpy_seconds(scenes: Scenes, chunk: int) -> float:
    """The shortest of three runs in float32 over all scenes, in chunks that fit the caches."""
    took = []
    for _ in range(3):
        begin = time.perf_counter()
        for start in range(0, len(scenes.v), chunk):
            out = roll_out(scenes.take(slice(start, start + chunk)), np.float32)
            assert out["s"].dtype == np.float32, "some number made it compute in float64"
        took.append(time.perf_counter() - begin)
    return min(took)


def measure(n: int, sample: int) -> None:
    fleet = Fleet(draw(np.random.default_rng(), n))
    for way in WAYS:
        fleet.poison()
        fleet.launch(way)
        check(fleet, way)
        took = wb.time(
            lambda i, way=way: fleet.launch(way), poison=fleet.poison, check=lambda i, way=way: check(fleet, way)
        )
        wb.timing(way, took)
        print(f"{way:8}{took.median * 1e3:10.3f} ms for {n} drives")
    few = fleet.scenes.take(slice(0, sample))
    chunks = {chunk: numpy_seconds(few, chunk) * n / sample for chunk in (1 << 11, 1 << 13, 1 << 15)}
    best = min(chunks, key=chunks.__getitem__)
    if wb.is_gpu():
        wb.value("numpy.time", chunks[best], "s")
        wb.value("numpy.chunk", best, "count")
    print(f"NumPy in chunks of {best}: {chunks[best]:.2f} s for as many, from {sample} drives")


def profile(n: int) -> None:
    """Each kernel once; the results are checked."""
    fleet = Fleet(draw(np.random.default_rng(21), n))
    for way in WAYS:
        fleet.poison()
        fleet.launch(way)
        check(fleet, way)
    print(f"{n} drives, three kernels: within 1e-4 of float64")


def check_all() -> None:
    rng = np.random.default_rng()
    for n in (1, 31, 33, 256, 257, 2000):
        for steps in (1, STEPS):
            fleet = Fleet(draw(rng, n), steps)
            for way in WAYS:
                fleet.poison()
                fleet.launch(way)
                check(fleet, way)
    print("three kernels, six sizes, 1 and 200 steps: within 1e-4 of float64")
    hits, kinds = fleet.results("flat")["hit"] >= 0, fleet.scenes.kind
    assert not hits[kinds == FREE].any(), "nobody is on a free road"
    assert hits[kinds == CUT_IN].any(), "scenes that are too easy compare no collision"
    print("nobody collides on a free road, and some do when a car cuts in")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile(2**20 if wb.is_gpu() else 2**11)
    else:
        check_all()
        if wb.is_gpu():
            measure(2**20, 2**15)
        else:
            print("no GPU: nothing is timed")
