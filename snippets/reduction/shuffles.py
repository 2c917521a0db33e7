"""Sums inside one warp: down, xor, one instruction, and warps of which only a part takes part.

python shuffles.py   check each against NumPy and show what the lanes hold
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

WARP = {"block": (32, 1, 1), "grid": (1, 1)}
module = wb.module("reduction/shuffles.cu")
rng = np.random.default_rng(32)


def run(kernel: str, values: np.ndarray, outputs: int, *args: np.generic) -> np.ndarray:
    """Launch one warp on a poisoned output."""
    out = np.full(outputs, -1, values.dtype)
    module.get_function(kernel)(cuda.In(values), cuda.InOut(out), *args, **WARP)
    return out


values = rng.integers(-1000, 1000, 32, dtype=np.int32)
total = int(values.sum(dtype=np.int64))

down = run("steps_down", values, 5 * 32).reshape(5, 32)
xor = run("steps_xor", values, 5 * 32).reshape(5, 32)
redux = run("sum_redux", values, 32)
print("lanes that hold the sum after each step, of 32")
for step in range(5):
    print(f"  distance {16 >> step:2}   down {np.sum(down[step] == total):3}   xor {np.sum(xor[step] == total):3}")
assert down[-1, 0] == total, "shfl_down: lane 0"
assert np.all(xor[-1] == total), "shfl_xor: every lane"
assert np.all(redux == total), "redux: every lane"
print(f"down, lane 0: {down[-1, 0]}; xor and redux, all lanes: {xor[-1, 0]}, {redux[0]}; NumPy: {total}")

for n in (1, 7, 31, 32):
    some = run("sum_some", values, 32, np.int32(n))
    assert np.all(some[:n] == values[:n].sum()), f"sum_some of {n}"
    assert np.all(some[n:] == -1), f"sum_some of {n}: the other lanes wrote"
    floats = rng.random(32, dtype=np.float32)
    got = run("sum_some_floats", floats, 32, np.int32(n))
    assert np.unique(got).size == 1, "xor: all lanes hold the same bits"
    exact = float(floats[:n].sum(dtype=np.float64))
    assert abs(float(got[0]) - exact) <= 5 * 2.0**-24 * exact, f"sum_some_floats of {n}"
print("first 1, 7, 31 and 32 lanes: integers exact, floats within 5 roundings, all lanes alike")
