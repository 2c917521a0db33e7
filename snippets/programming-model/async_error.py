"""When errors come: at the call itself, or at a later one, and what is left of the context then.

python async_error.py          every case; those that kill the context run in a process of their own
python async_error.py CASE     one case in this process; prints what happened as JSON
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

module = wb.module("programming-model/faults.cu")
store, give_up, insist = (module.get_function(name) for name in ("store", "give_up", "insist"))
memory = cuda.mem_alloc(4 * 1024)
nowhere, one, many = np.uintp(0), np.int32(1), np.int32(31)

# --8<-- [start:cases]
AT_ONCE = {  # the call itself raises, nothing has run, and the context lives
    "2048 threads": lambda: store(memory, one, block=(2048, 1, 1)),
    "70,000 blocks along y": lambda: store(memory, one, block=(32, 1, 1), grid=(1, 70_000)),
    "1 TiB": lambda: cuda.mem_alloc(2**40),
    "a Python int": lambda: store(memory, 1, block=(32, 1, 1)),
    "no block": lambda: store(memory, one),
    "no such kernel": lambda: module.get_function("stare"),
}
LATER = {  # the launch returns, the kernel fails, and the context dies
    "a null pointer": lambda: store(nowhere, one, block=(32, 1, 1)),
    "a trap": lambda: give_up(memory, block=(32, 1, 1)),
    "an assertion": lambda: insist(memory, many, block=(32, 1, 1)),
}
# --8<-- [end:cases]
EXPECTED = {
    "2048 threads": ("the call", "LogicError"),
    "70,000 blocks along y": ("the call", "LogicError"),
    "1 TiB": ("the call", "MemoryError"),
    "a Python int": ("the call", "TypeError"),
    "no block": ("the call", "ValueError"),
    "no such kernel": ("the call", "LogicError"),
    "a null pointer": ("synchronize", "LogicError"),
    "a trap": ("synchronize", "LaunchError"),
    "an assertion": ("synchronize", "LogicError"),
}


# --8<-- [start:observe]
def alive() -> bool:
    """Whether the context still allocates, computes and copies."""
    try:
        got, out = np.full(64, -1, np.int32), cuda.mem_alloc(4 * 64)
        cuda.memcpy_htod(out, got)
        store(out, np.int32(7), block=(32, 1, 1), grid=(2, 1))
        cuda.memcpy_dtoh(got, out)
    except cuda.Error:
        return False
    wb.check(got, np.full(64, 7), what="store")
    return True


def observe(action: Callable[[], object]) -> dict:
    """Which call raises what, and whether the context outlives it."""
    for at, step in (("the call", action), ("synchronize", cuda.Context.synchronize)):
        try:
            step()
        except Exception as error:
            return {"at": at, "type": type(error).__name__, "message": str(error), "alive": alive()}
    return {"at": "nowhere", "type": "", "message": "", "alive": alive()}


# --8<-- [end:observe]


# --8<-- [start:child]
def in_a_process_of_its_own(case: str) -> dict:
    """Run one case where the context that dies is not ours."""
    program = str(wb.ROOT / "programming-model" / "async_error.py")
    done = subprocess.run([sys.executable, program, case], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{case}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# --8<-- [end:child]


def tell(case: str, found: dict) -> None:
    if (found["at"], found["type"]) != EXPECTED[case] or found["alive"] != (case in AT_ONCE):
        raise AssertionError(f"{case}: {found}")
    fate = "lives" if found["alive"] else "is dead"
    print(f"{case:22} {found['at']:12} {found['type']:12} context {fate:8} {found['message']}")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(observe(LATER[sys.argv[1]])), flush=True)
        os._exit(0)  # there is nothing left that could be cleaned up
    else:
        assert alive()
        print(f"{'what':22} {'raised by':12} {'exception':12}")
        for case, action in AT_ONCE.items():
            tell(case, observe(action))
        for case in LATER:
            tell(case, in_a_process_of_its_own(case))
        assert alive()  # what died, died elsewhere
