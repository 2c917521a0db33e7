"""Eight pointwise operations as one kernel: check, count, and on a GPU time it beside the eight and PyTorch's own.

`single` takes one number per thread, `fused` 16 bytes.

python gelu.py   check and count; on a GPU also time 2^27 floats
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(packages="torch")
import _count as composed  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from _reference import gelu  # noqa: E402

WAYS = {
    "eager": composed.gelu,
    "builtin": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "single": ops.gelu_single,
    "fused": ops.gelu,
}


def check(x: torch.Tensor) -> None:
    """All four within a few roundings; 1 + tanh may cancel, so the bound is relative to x."""
    values = x.cpu().numpy()
    want, bound = gelu(values), 1e-6 * np.abs(values.astype(np.float64))
    for name, way in WAYS.items():
        wb.check(way(x).cpu().numpy(), want, bound, name)


if __name__ == "__main__":
    device = "cuda" if wb.is_gpu() else "cpu"
    ops.checking = True
    for n in (1, 257, 4099):
        check(torch.randn(n, device=device))
        check(torch.randn(n + 1, device=device)[1:])  # begins 4 bytes behind a multiple of 16
    x = torch.randn(2**14, device=device)
    for name in ("eager", "builtin", "fused"):  # `single` is no operator, so nothing would be counted
        found = composed.count(lambda name=name: WAYS[name](x))
        print(f"{name:8} {found.launches} launches, {found.bytes / x.numel():.0f} bytes per element")
    ops.checking = False
    if wb.is_gpu():
        wb.needs(memory=6 * 2**30)
        n = 2**27
        x, y = torch.randn(n, device=device), torch.empty(n, device=device)
        for name, way in WAYS.items():
            wb.timing(name, wb.time(lambda _, way=way: way(x)), nbytes=8 * n)
        wb.timing("copy", wb.time(lambda _: y.copy_(x)), nbytes=8 * n)
    else:
        print("no GPU: nothing is timed")
