"""The kernels as they are, through PyCUDA."""

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
from timing import asked, measure

for problem in asked():
    kernel = SourceModule(problem.source("cu"), no_extern_c=True).get_function(problem.name)
    held = [cuda.mem_alloc(x.nbytes) if isinstance(x, np.ndarray) else x for x in problem.arguments]
    result = np.empty_like(problem.arguments[problem.result])

    def prepare(problem=problem, held=held):
        for device, host in zip(held, problem.arguments, strict=True):
            if isinstance(host, np.ndarray):
                cuda.memcpy_htod(device, host)

    def run(problem=problem, held=held, kernel=kernel):
        kernel(*held, grid=problem.grid, block=(*problem.block, 1))
        cuda.Context.synchronize()

    def fetch(problem=problem, held=held, result=result):
        cuda.memcpy_dtoh(result, held[problem.result])
        return result

    measure("softcuda", problem, prepare, run, fetch)
