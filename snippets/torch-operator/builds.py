"""One kernel source, built in three ways: the same results, bit for bit.

python builds.py   build, run all five kernels in all builds, compare
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(packages="torch")
import _builds as builds  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from kernels import skewed  # noqa: E402
from torch import Tensor  # noqa: E402

DEVICE = "cuda" if wb.is_gpu() else "cpu"


def cases() -> dict[str, tuple[list[Tensor], list[tuple[int, ...]], list[int], int, tuple[int, int]]]:
    """Inputs, shapes of the outputs, numbers, blocks and threads of each kernel, on random data."""
    x = torch.randn(5001, device=DEVICE)
    grid, points = torch.randn(6, 5, 7, 32, device=DEVICE), torch.rand(400, 3, device=DEVICE) * 4
    grad, numbers = torch.randn(400, 32, device=DEVICE), [400, 6, 5, 7, 32]
    start = torch.nn.functional.pad(torch.from_numpy(skewed(50)).cumsum(0), (1, 0)).to(DEVICE)
    samples = int(start[-1])
    tau, colour = torch.rand(samples, device=DEVICE) / 20, torch.rand(samples, 3, device=DEVICE)
    light, shade = torch.randn(50, 4, device=DEVICE), ops.composite(tau, colour, start)
    return {
        "gelu": ([x], [(5001,)], [5001], 5, (256, 1)),
        "trilinear": ([grid, points], [(400, 32)], numbers, 50, (32, 8)),
        "trilinear_backward": ([grad, grid, points], [(6, 5, 7, 32), (400, 3)], numbers, 50, (32, 8)),
        "composite": ([tau, colour, start], [(50, 4)], [50], 7, (256, 1)),
        "composite_backward": ([light, shade, tau, colour, start], [(samples,), (samples, 3)], [50], 7, (256, 1)),
    }


def outputs(name: str, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """NaN, or zero for the gradient that atomics add to."""
    found = [torch.full(shape, float("nan"), device=DEVICE) for shape in shapes]
    if name == "trilinear_backward":
        found[0].zero_()
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        for make in (builds.with_driver_api, builds.with_load_inline):
            (place := Path(folder) / make.__name__).mkdir()
            made[make.__name__] = make(place)
        for name, (inputs, shapes, numbers, blocks, block) in cases().items():
            want = outputs(name, shapes)
            ops.launch(name, [*inputs, *want], numbers, blocks, block)
            if not all(bool(t.isfinite().all()) and bool(t.any()) for t in want):
                raise AssertionError(f"{name}: elements that the kernel did not write")
            for build, launch in made.items():
                got = outputs(name, shapes)
                builds.call(launch, name, [*inputs, *got], numbers, blocks, block)
                for i, (one, other) in enumerate(zip(got, want, strict=True)):
                    ordered = name != "trilinear_backward" or i > 0 or not wb.is_gpu()
                    bound = 0.0 if ordered else 1e-4  # atomics on a GPU come in any order
                    wb.check(one.cpu().numpy(), other.cpu().numpy(), bound, f"{name}, {build}, output {i}")
            print(f"{name}: the same bits from PyCUDA, {' and '.join(made)}")
