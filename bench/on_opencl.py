"""The kernels' OpenCL twins, through PyOpenCL: PLATFORM WHO PROBLEM..."""

import sys

import numpy as np
import pyopencl as cl
from timing import asked, measure

platform, who = sys.argv.pop(1), sys.argv.pop(1)
device = next(p for p in cl.get_platforms() if p.name == platform).get_devices()[0]
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

    measure(who, problem, prepare, run, fetch)
