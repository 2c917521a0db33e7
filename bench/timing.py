"""How a run is timed, the same for every contender; results are told as lines of JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from problems import PROBLEMS, Problem

REPEATS, SECONDS = 20, 1.5  # as many runs, or as many as fit


def asked() -> Iterator[Problem]:
    """The problems that this process is to run: NAME or NAME:SIZE."""
    for argument in sys.argv[1:]:
        name, _, size = argument.partition(":")
        yield PROBLEMS[name](*([int(size)] if size else []))


def measure(
    who: str, problem: Problem, prepare: Callable[[], None], run: Callable[[], None], fetch: Callable[[], np.ndarray]
) -> None:
    """The shortest of many runs, after one that is not counted; each result is checked."""
    wall: list[float] = []
    cpu: list[float] = []
    begin = time.perf_counter()
    while len(wall) < 2 or (len(wall) <= REPEATS and time.perf_counter() - begin < SECONDS):
        prepare()
        cpu_before, before = time.process_time(), time.perf_counter()
        run()
        wall.append(time.perf_counter() - before)
        cpu.append(time.process_time() - cpu_before)
        problem.check(fetch(), who)
        if len(wall) == 1:  # which compiled, or met cold memory
            begin = time.perf_counter()
    line = {"who": who, "problem": problem.name, "size": problem.size, "unit": problem.unit, "amount": problem.amount}
    print(json.dumps(line | {"seconds": min(wall[1:]), "cpu": min(cpu[1:]), "runs": len(wall)}), flush=True)
