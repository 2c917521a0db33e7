"""Run every case once to see whether it is right, then again for its time; prints JSON, by case.

With TRITON_INTERPRET=1 in Triton's interpreter, else on softcuda: `timed.py [CASE ...]`.
"""

from __future__ import annotations

import json
import os
import sys
import time

ON_SOFTCUDA = os.environ.get("TRITON_INTERPRET", "0") == "0"

import places  # noqa: E402
from cases import CASES, wrong  # noqa: E402


def main(names: list[str]) -> None:
    put, wait = places.in_memory, lambda: None
    if ON_SOFTCUDA:
        from pycuda import autoprimaryctx

        put, wait = places.on_device, autoprimaryctx.context.synchronize
    found = {}
    for name in names or CASES:
        launch, results = CASES[name](put)
        begin = time.perf_counter()
        try:
            launch()
            wait()
        except Exception as error:
            found[name] = {"wrong": [f"{name}: {type(error).__name__}: {error}"]}
            continue
        first = time.perf_counter() - begin
        mistakes = [line for tensor, *want in results for line in wrong(name, places.array_of(tensor), *want)]
        seconds = []
        while len(seconds) < 3:
            begin = time.perf_counter()
            launch()
            wait()
            seconds.append(time.perf_counter() - begin)
        found[name] = {"wrong": mistakes, "first": first, "seconds": min(seconds)}
    print(json.dumps(found))


main(sys.argv[1:])
