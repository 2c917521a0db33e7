"""The last rung for bf16, fp16, TF32 and fp8 (e4m3), beside cuBLAS with the same types.

python kinds.py   check; on a GPU also time N = 4096 and 8192 in pairs, with the clock and the power of each
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _tensor import KINDS, Problem, Sample, check, cublas, final
from warppairs import Meter, pairs, share_of, spread

if cuda.Context.get_device().compute_capability() != (9, 0):
    name = cuda.Context.get_device().name()
    print(f"skipped: needs a device with wgmma (compute capability 9.0), and {name} has none")
    raise SystemExit(wb.SKIPPED)

rng = np.random.default_rng()
for kind in KINDS:
    problems = [Problem(rng, *shape, kind) for shape in ((200, 272, 144), (640, 784, 208))]
    check(problems, {f"v14 {kind}": final(kind, 4)})
    print(f"{kind}: right for 200 x 272 x 144 and 640 x 784 x 208")
if not wb.is_gpu():
    print("no GPU: nothing is timed")
    raise SystemExit

wb.needs("9.0", memory=2**30)
meter = Meter()
print(f"{'':12}{'TFLOP/s':>9}{'cuBLAS':>9}{'of cuBLAS':>11}{'W':>6}{'cuBLAS':>8}{'MHz':>7}{'cuBLAS':>8}")
for kind in KINDS:
    launch = final(kind, cuda.Context.get_device().multiprocessor_count)
    for n in (4096, 8192):
        problem, flop = Sample(rng, n, kind), 2 * n**3
        problem.reset()
        launch(problem)
        problem.check(f"{kind}, N = {n}")
        run, library = (lambda p=problem, launch=launch: launch(p)), cublas(problem)
        pairs(library, run)  # to the power limit
        sides = pairs(run, library, seconds=1.5, meter=meter)
        problem.reset()
        launch(problem)
        problem.check(f"{kind}, N = {n}")
        tag, share = f"{kind}.n{n}", share_of(*sides)
        rates = []
        for which, side in zip((tag, f"{tag}.cublas"), sides, strict=True):
            t = wb.Timing(*spread(side.seconds), repeats=len(side.seconds))
            wb.timing(which, t, flop=flop)
            rates.append(flop / t.median / 1e12)
        wb.value(f"{tag}.share", share[0], "%", share[1:])
        line = f"{kind:5} {n:5} {rates[0]:9.1f}{rates[1]:9.1f}{share[0]:9.1f} %"
        if meter.works:
            for which, side in zip((tag, f"{tag}.cublas"), sides, strict=True):
                wb.value(f"{which}.watts", side.power, "W")
                wb.value(f"{which}.clock", side.clock, "Hz")
            line += "".join(f"{side.power:{w}.0f}" for side, w in zip(sides, (6, 8), strict=True))
            line += "".join(f"{side.clock / 1e6:{w}.0f}" for side, w in zip(sides, (7, 8), strict=True))
        print(line, flush=True)
