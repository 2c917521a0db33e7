"""The last rung for bf16, fp16, TF32 and fp8 (e4m3), beside cuBLAS with the same types.

python kinds.py   check; on a GPU also time N = 4096 and 8192 in pairs, with the clock and the power of each
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _tensor import KINDS, Meter, Problem, Sample, check, cublas, final, pairs, spread

if cuda.Context.get_device().compute_capability() != (9, 0):
    name = cuda.Context.get_device().name()
    print(f"skipped: needs a device with wgmma (compute capability 9.0), and {name} has none")
    raise SystemExit(wb.SKIPPED)

rng = np.random.default_rng()
for kind in KINDS:
    problems = [Problem(rng, *shape, kind) for shape in ((200, 272, 144), (640, 784, 208))]
    check(problems, {f"v13 {kind}": final(kind, 4)})
    print(f"{kind}: right for 200 x 272 x 144 and 640 x 784 x 208")
if not wb.is_gpu():
    print("no GPU: nothing is timed")
    raise SystemExit

wb.needs("9.0", memory=2**30)
meter = Meter()
print(f"{'':12}{'TFLOP/s':>9}{'cuBLAS':>9}{'ratio':>8}{'W':>6}{'cuBLAS':>8}{'MHz':>7}{'cuBLAS':>8}")
for kind in KINDS:
    launch = final(kind, cuda.Context.get_device().multiprocessor_count)
    for n in (4096, 8192):
        problem, flop = Sample(rng, n, kind), 2 * n**3
        problem.reset()
        launch(problem)
        problem.check(f"{kind}, N = {n}")
        ours, theirs = (lambda p=problem, launch=launch: launch(p)), cublas(problem)
        pairs(theirs, ours, seconds=0.4)  # to the power limit
        times = pairs(ours, theirs, seconds=0.6)
        problem.reset()
        launch(problem)
        problem.check(f"{kind}, N = {n}")
        tag, share = f"{kind}.n{n}", spread([100 * b / a for a, b in zip(*times, strict=True)])
        for which, seconds in zip((tag, f"{tag}.cublas"), times, strict=True):
            wb.timing(which, wb.Timing(*spread(seconds), repeats=len(seconds)), flop=flop)
        wb.value(f"{tag}.share", share[0], "%", share[1:])
        line = f"{kind:5} {n:5} {flop / spread(times[0])[0] / 1e12:9.1f}{flop / spread(times[1])[0] / 1e12:9.1f}"
        line += f"{share[0] / 100:8.3f}"
        if meter.works and n == 8192:
            seen = [meter.watch(run, 0.6) for run in (ours, theirs)]
            for which, (_, watts, clock) in zip((tag, f"{tag}.cublas"), seen, strict=True):
                wb.value(f"{which}.watts", watts, "W")
                wb.value(f"{which}.clock", clock, "Hz")
            line += f"{seen[0][1]:6.0f}{seen[1][1]:8.0f}{seen[0][2] / 1e6:7.0f}{seen[1][2] / 1e6:8.0f}"
        print(line, flush=True)
