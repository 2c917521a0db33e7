"""On a GPU: does the operator run on the stream of its caller? Two streams, one of them busy.

python streams.py   needs a GPU: PyTorch without CUDA has no streams
"""

import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(gpu=True, packages="torch")
import functools  # noqa: E402
import itertools  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

import _builds as builds  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from _count import gelu  # noqa: E402
from torch import Tensor  # noqa: E402

WAIT = 400_000_000  # clock cycles, about a fifth of a second
N = 2**20


def call(launch: Callable[..., None], x: Tensor) -> Tensor:
    y = torch.full_like(x, float("nan"))
    launch("gelu", [x, y], [N], N // (4 * ops.THREADS), (ops.THREADS, 1))
    return y


# --8<-- [start:two]
def check(name: str, launch: Callable[..., None]) -> None:
    """On a busy stream the input comes late and the output is read at once; a free stream does not wait for that."""
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    data = torch.randn(N, device="cuda")
    want = gelu(data.double()).cpu().numpy()
    # Once without the wait: what happens at a first use only (a kernel is loaded, memory reserved, a stream made) may
    # itself wait for the whole device.
    for cycles in (0, WAIT):
        x = torch.full((N,), float("nan"), device="cuda")
        torch.cuda.synchronize()
        steps = [("", time.perf_counter())]
        with torch.cuda.stream(busy):
            torch.cuda._sleep(cycles)
            steps.append(("sleep", time.perf_counter()))
            x.copy_(data)  # a kernel that does not wait for this stream reads NaN
            y = 2 * call(launch, x)  # and one that this stream does not wait for has written nothing yet
            late = torch.cuda.Event()
            late.record()
            steps.append(("busy", time.perf_counter()))
        with torch.cuda.stream(free):
            other = call(launch, data)
            early = torch.cuda.Event()
            early.record()
            steps.append(("free", time.perf_counter()))
        early.synchronize()
        waited = late.query()
        steps.append(("wait", time.perf_counter()))
        torch.cuda.synchronize()
        if cycles and waited:
            took = ", ".join(f"{step} {1e3 * (b - a):.1f}" for (_, a), (step, b) in itertools.pairwise(steps))
            raise AssertionError(f"{name}: a launch on the free stream waited for the busy one; host, in ms: {took}")
        wb.check(y.cpu().numpy(), 2 * want, 1e-5, f"{name}, busy stream")
        wb.check(other.cpu().numpy(), want, 1e-5, f"{name}, free stream")
        del x, y, other


# --8<-- [end:two]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ways = {"PyCUDA": ops.launch}
        for make in (builds.with_driver_api, builds.with_load_inline):
            (place := Path(folder) / make.__name__).mkdir()
            ways[make.__name__] = functools.partial(builds.call, make(place))
        for name, launch in ways.items():
            check(name, launch)
            print(f"{name}: on the caller's stream, and two streams do not wait for each other")
