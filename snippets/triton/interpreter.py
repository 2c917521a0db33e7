"""Three kernels in bfloat16 by Triton's interpreter and by the device: how many of 256 results are right.

python interpreter.py
"""

import json
import os
import subprocess
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # what Triton 3.9 does, and warns of where it is not said

import numpy as np
import warpbench as wb

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not INTERPRETED:
    import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
wb.needs(packages=("torch", "triton"))
import torch  # noqa: E402
from _interpreted import add, cast, dot  # noqa: E402


def bf16(x: np.ndarray) -> np.ndarray:
    """float32 to the nearest bfloat16, ties to even, as float32."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def results(data: np.ndarray) -> dict[str, list[float]]:
    """What each kernel gives for four rows of 256 numbers: two of small integers, two of normal numbers."""
    place = "cuda" if not INTERPRETED and wb.is_gpu() else "cpu"
    a, b, x, y = (torch.tensor(row, dtype=torch.bfloat16, device=place) for row in data)
    out = {name: torch.full((256,), torch.nan, device=place) for name in ("dot", "add", "cast")}
    dot[(1,)](a, b, out["dot"])
    add[(1,)](x, y, out["add"])
    cast[(1,)](torch.tensor(data[2], device=place), out["cast"])
    return {name: tensor.cpu().tolist() for name, tensor in out.items()}


if __name__ == "__main__":
    if INTERPRETED:
        print(json.dumps(results(np.array(json.load(sys.stdin), np.float32))))
        raise SystemExit
    print(f"{'of 256 numbers, right:':24}{'compiled':>10}{'interpreted':>13}")
    for seed in (None, 1104):  # fresh numbers are checked; those of a seed are also counted
        rng = np.random.default_rng(seed)
        data = np.concatenate([rng.integers(-3, 4, (2, 256)), rng.standard_normal((2, 256))]).astype(np.float32)
        a, b, x, y = data
        want = {
            "dot": (a.reshape(16, 16) @ b.reshape(16, 16)).ravel(),  # of small integers: exact
            "add": bf16(bf16(x) + bf16(y)),
            "cast": bf16(x),
        }
        compiled = {name: np.array(values, np.float32) for name, values in results(data).items()}
        for name, right in want.items():
            wb.check(compiled[name], right, 0, f"{name}, compiled")
        if seed is None:
            continue
        done = subprocess.run(
            [sys.executable, __file__], input=json.dumps(data.tolist()), capture_output=True, text=True, check=True,
            env=os.environ | {"TRITON_INTERPRET": "1"},
        )  # fmt: skip
        interpreted = {name: np.array(x, np.float32) for name, x in json.loads(done.stdout.splitlines()[-1]).items()}
        for name, right in want.items():
            counts = f"{(compiled[name] == right).sum():10}{(interpreted[name] == right).sum():13}"
            first = np.argmax(interpreted[name] != right)
            print(f"{name:24}{counts}    {right[first]:.6g} becomes {interpreted[name][first]:.6g}")
