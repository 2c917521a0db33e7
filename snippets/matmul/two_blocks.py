"""v4 with one block per SM, as it is compiled, and with two: the compiler is told that two must fit.

python two_blocks.py   check both; on a GPU also time M = N = K = 4096, in pairs
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _gemm import RUNGS, Problem, Sample, check, rounds, rung, spread
from pycuda.compiler import SourceModule

V4 = next(one for one in RUNGS if one.name == "v4")
AS_IT_IS, TWO = "__launch_bounds__(256) gemm_v4", "__launch_bounds__(256, 2) gemm_v4"

text = wb.source("matmul/gemm.cu")
if AS_IT_IS not in text:
    raise RuntimeError("gemm.cu: v4 has no __launch_bounds__(256)")
modules = {
    "one": SourceModule(text, no_extern_c=True),
    "two": SourceModule(text.replace(AS_IT_IS, TWO), no_extern_c=True),
}
launches = {name: rung(module, V4) for name, module in modules.items()}
rng = np.random.default_rng()
check([Problem(rng, 67, 53, 41, 1.5, 0.5), Problem(rng, 128, 256, 64)], launches)
for name, module in modules.items():
    kernel = module.get_function("gemm_v4")
    print(f"{name}: right, {kernel.num_regs} registers and {kernel.local_size_bytes} bytes of stack per thread")
if wb.is_gpu():
    n = 4096
    problem = Sample(rng, n)
    for name, launch in launches.items():
        problem.reset()
        problem.run(launch)
        problem.check(name)
    runs = [lambda _, launch=launch: problem.run(launch) for launch in launches.values()]
    for name, times in zip(launches, rounds(*runs, seconds=1.0), strict=True):
        t = wb.Timing(*spread(times), repeats=len(times))
        wb.timing(f"v4_{name}", t, flop=2 * n**3)
        print(f"{name}: {t.median * 1e3:.3f} ms, {2 * n**3 / t.median / 1e12:.2f} TFLOP/s")
else:
    print("no GPU: nothing is timed")
