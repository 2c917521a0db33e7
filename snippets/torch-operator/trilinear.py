"""Trilinear interpolation as an operator: against its composition, and on a GPU timed beside it, gradients included.

python trilinear.py   check and count; on a GPU also time 2^20 points in a grid of 128 x 128 x 128 x 32 floats
"""

from collections.abc import Callable

import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(packages="torch")
import _count as composed  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402


# --8<-- [start:multiplied]
def multiplied(grid: Tensor, points: Tensor) -> Tensor:
    """The composition with two products in place of `prod`, whose gradient takes PyTorch longest."""
    return composed.trilinear(grid, points, multiply=lambda factor: factor[..., 0] * factor[..., 1] * factor[..., 2])


# --8<-- [end:multiplied]


WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "composed": composed.trilinear,
    "multiplied": multiplied,
    "kernel": ops.trilinear,
}


def problem(size: int, channels: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """A grid, points in it, and a gradient of the result."""
    device = "cuda" if wb.is_gpu() else "cpu"
    grid = torch.randn(size, size, size, channels, device=device, requires_grad=True)
    points = (torch.rand(count, 3, device=device) * (size - 1)).requires_grad_()
    return grid, points, torch.randn(count, channels, device=device)


def step(way: Callable[[Tensor, Tensor], Tensor], grid: Tensor, points: Tensor, grad: Tensor) -> tuple[Tensor, ...]:
    """Forward and backward."""
    return torch.autograd.grad(way(grid, points), (grid, points), grad)


def check(size: int, channels: int, count: int) -> None:
    """The kernel, and the other composition, in float against the composition in double."""
    grid, points, grad = problem(size, channels, count)
    wide = [t.detach().double().requires_grad_() for t in (grid, points)]
    want = [composed.trilinear(*wide), *step(composed.trilinear, *wide, grad.double())]
    most = 1e-5 * float(grid.detach().abs().max() * grad.abs().max())
    for way in (ops.trilinear, multiplied):
        got = [way(grid, points), *step(way, grid, points, grad)]
        for what, one, other in zip(("result", "gradient of the grid", "of the points"), got, want, strict=True):
            wb.check(one.detach().cpu().numpy(), other.detach().cpu().numpy(), most * channels, what)


if __name__ == "__main__":
    ops.checking = True
    for shape in ((2, 1, 5), (5, 3, 70), (8, 32, 200), (4, 40, 33)):
        check(*shape)
    nbytes = {"kernel": (1164, 4644)}  # per point, forward and with gradients; of the compositions they are counted
    grid, points, grad = problem(32, 32, 2**14)  # as many points per cell as where it is timed
    for name, way in WAYS.items():
        forward = composed.count(lambda way=way: way(grid, points))
        both = composed.count(lambda way=way: step(way, grid, points, grad))
        print(f"{name:10} {forward.launches:2} launches forward, {both.launches:2} with the gradients")
        if name != "kernel":  # of an operator of ours, this count does not know what it gathers
            nbytes[name] = forward.bytes // 2**14, both.bytes // 2**14
            print(f"{'':10} {forward.bytes / 2**14:.0f} and {both.bytes / 2**14:.0f} bytes per point")
    ops.checking = False
    if wb.is_gpu():
        wb.needs(memory=16 * 2**30)
        grid, points, grad = problem(128, 32, 2**20)
        for name, way in WAYS.items():
            once, stepped = (2**20 * each for each in nbytes[name])
            wb.timing(name, wb.time(lambda _, way=way: way(grid, points), repeats=30), nbytes=once)
            wb.timing(
                f"{name}.step", wb.time(lambda _, way=way: step(way, grid, points, grad), repeats=30), nbytes=stepped
            )
    else:
        print("no GPU: nothing is timed")
