"""Count what a piece of PyTorch asks of memory, before any kernel is written; and the same operators, composed."""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


# --8<-- [start:traffic]
def nbytes(t: Tensor) -> int:
    """Of the memory that t reads: a dimension that was expanded has stride 0, and costs nothing."""
    return t.element_size() * math.prod(n for n, step in zip(t.shape, t.stride(), strict=True) if step)


class Traffic(TorchDispatchMode):
    """Count operations, and the bytes that each reads and writes if it is a launch of its own."""

    GATHERS = ("aten::index", "aten::index_select", "aten::gather")  # these read as much as they return

    def __init__(self) -> None:
        super().__init__()
        self.launches = self.bytes = 0
        self.names: list[str] = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        if op.is_view or op.name().startswith(("aten::detach", "aten::_unsafe_view", "aten::empty", "aten::new_empty")):
            return result
        name = op.name().split(".")[0]
        read = {(t.data_ptr(), t.stride()): t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        written = [t for t in tree_leaves(result) if isinstance(t, Tensor)]
        if name in self.GATHERS:
            read = {key: t for key, t in read.items() if t is not args[0]} | {"gathered": written[0]}
        self.launches += 1
        self.names.append(name.removeprefix("aten::"))
        self.bytes += sum(map(nbytes, read.values())) + sum(map(nbytes, written))
        return result


# --8<-- [end:traffic]


def count(function: Callable[[], object]) -> Traffic:
    with Traffic() as traffic:
        function()
    return traffic


# --8<-- [start:gelu]
def gelu(x: Tensor) -> Tensor:
    """Eight operations, as one would write them."""
    inner = torch.add(x, x * x * x, alpha=0.044715) * 0.7978845608
    return (torch.tanh(inner) + 1) * x * 0.5


# --8<-- [end:gelu]


@functools.cache
def constants(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The last cell, the distances between neighbours, and the eight corners of a cell."""
    depth, height, width = shape
    last = torch.tensor([width - 2, height - 2, depth - 2], dtype=dtype, device=device)
    steps = torch.tensor([1, width, width * height], device=device)
    return last, steps, torch.tensor([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)], device=device)


# --8<-- [start:trilinear]
def trilinear(
    grid: Tensor, points: Tensor, multiply: Callable[[Tensor], Tensor] = lambda factors: factors.prod(2)
) -> Tensor:
    """Cells, eight indices and eight weights per point, gathered corners, their weighted sum."""
    last, steps, corner = constants(grid.shape[:3], points.dtype, points.device)
    cell = torch.minimum(points.detach().floor().clamp(min=0), last)
    u = points - cell
    first = (cell.long() * steps).sum(1, keepdim=True)
    at = first + (corner * steps).sum(1)
    weight = multiply(torch.where(corner.bool(), u[:, None], 1 - u[:, None]))
    return (grid.flatten(0, 2)[at] * weight[:, :, None]).sum(1)


# --8<-- [end:trilinear]


# --8<-- [start:composite]
def composite(tau: Tensor, colour: Tensor) -> Tensor:
    """Padded: tau is [rays, samples], colour [rays, samples, 3]."""
    behind = tau.cumsum(1)
    weight = torch.exp(tau - behind) * -torch.expm1(-tau)
    return torch.cat([(weight[:, :, None] * colour).sum(1), weight.sum(1, keepdim=True)], 1)


# --8<-- [end:composite]
