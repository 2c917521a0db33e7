"""The operator in torch.compile: one graph, in which the compiler writes the rest, and the right gradients.

python compiled.py   on a GPU and on softcuda, where Inductor writes Triton for CPU tensors
"""

import sys
from collections.abc import Callable

import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(packages=("torch", "triton"))
import _count as composed  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

if not wb.is_gpu():
    import softcuda.torch  # noqa: F401


# --8<-- [start:loss]
def loss(grid: Tensor, points: Tensor, trilinear: Callable[[Tensor, Tensor], Tensor] = ops.trilinear) -> Tensor:
    """Pointwise work before and after the operator, for the compiler to fuse."""
    feature = trilinear(grid * 0.5 + 1, points.tanh() + 1)
    return (feature.sin() * feature).square().sum()


# --8<-- [end:loss]


if __name__ == "__main__":
    device = "cuda" if wb.is_gpu() else "cpu"
    ops.checking = True
    grid = torch.randn(4, 5, 6, 8, device=device, requires_grad=True)
    for count in (70, 90, 110):  # from the second size on, one graph with a symbolic size serves all
        points = torch.randn(count, 3, device=device, requires_grad=True)
        compiled = torch.compile(loss, fullgraph=True)
        want = torch.autograd.grad(loss(grid, points, composed.trilinear), (grid, points))
        got = torch.autograd.grad(compiled(grid, points), (grid, points))
        for what, one, other in zip(("grid", "points"), got, want, strict=True):
            most = float(other.abs().max())
            wb.check(one.cpu().numpy(), other.cpu().numpy(), 1e-5 * most, f"{count} points, gradient of the {what}")
        print(f"{count} points: one graph, gradients as of the composition in eager mode")
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    print(f"graphs compiled: {graphs}")
    sys.unraisablehook = lambda _: None  # Triton unloads its kernels when PyCUDA's context has ended, and complains
