"""The kernels as they are, through vgre."""

import contextlib
import io

from timing import asked, measure
from vgre.kernel import Dim3, Kernel
from vgre.runtime import Runtime

runtime = Runtime()
with contextlib.redirect_stdout(io.StringIO()):
    runtime.init()

for problem in asked():
    source = problem.source("cu").replace("#define TILE 16\n", "").replace("TILE", "16")  # it knows no #define
    kernel = Kernel(problem.name, source)
    arguments = [x.copy() if getattr(x, "ndim", 0) else int(x) for x in problem.arguments]
    result = arguments[problem.result]

    def prepare(problem=problem, result=result):
        result[...] = problem.arguments[problem.result]

    def run(problem=problem, kernel=kernel, arguments=arguments):
        runtime.launch(kernel, Dim3(*problem.grid), Dim3(*problem.block), arguments)
        runtime.synchronize()

    measure("vgre", problem, prepare, run, fetch=lambda result=result: result)
