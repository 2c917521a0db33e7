"""The kernels' OpenCL twins, through PyOpenCL and PoCL."""

import numpy as np
import pyopencl as cl
from timing import asked, measure

device = next(p for p in cl.get_platforms() if p.name == "Portable Computing Language").get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)

for problem in asked():
    kernel = cl.Kernel(cl.Program(context, problem.source("cl")).build(), problem.name)
    both = cl.mem_flags.READ_WRITE
    held = [cl.Buffer(context, both, x.nbytes) if isinstance(x, np.ndarray) else x for x in problem.arguments]
    result = np.empty_like(problem.arguments[problem.result])
    threads = tuple(g * b for g, b in zip(problem.grid, problem.block, strict=True))

    def prepare(problem=problem, held=held):
        for buffer, host in zip(held, problem.arguments, strict=True):
            if isinstance(host, np.ndarray):
                cl.enqueue_copy(queue, buffer, host)
        queue.finish()

    def run(problem=problem, held=held, kernel=kernel, threads=threads):
        kernel(queue, threads, problem.block, *held)
        queue.finish()

    def fetch(problem=problem, held=held, result=result):
        cl.enqueue_copy(queue, result, held[problem.result])
        queue.finish()
        return result

    measure("PoCL", problem, prepare, run, fetch)
