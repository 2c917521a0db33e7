"""The same layers by PyTorch, which calls cuDNN: the faster of two layouts, each with the fastest of its algorithms."""

from collections.abc import Callable
from typing import Any

import torch
from _conv import Layer
from warppairs import burst

torch.backends.cudnn.benchmark = True  # try cuDNN's algorithms on the first call of a shape, and keep the fastest
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False


class Shared:
    """Device memory in the shape that torch.as_tensor takes, which keeps this object and so the memory."""

    def __init__(self, address: Any, shape: tuple[int, ...], kind: str) -> None:
        self.memory = address
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": kind, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def tensor(address: Any, shape: tuple[int, ...], kind: str = "<f4") -> torch.Tensor:
    return torch.as_tensor(Shared(address, shape, kind), device="cuda")


# --8<-- [start:rivals]
def best(launches: list[Callable[[], Any]]) -> Callable[[], Any]:
    """The fastest, from a burst of each."""
    for launch in launches:
        launch()
    return min(launches, key=lambda launch: min(burst(launch, 5) for _ in range(2)))


def layouts(x: torch.Tensor, weight: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """x[n][h][w][c] and w[k][c][r][s] as they are, channels last, and with channels first."""
    last = weight.contiguous(memory_format=torch.channels_last)
    x = x.permute(0, 3, 1, 2)
    return [(x, last), (x.contiguous(), weight.contiguous())]


def conv2d(layer: Layer, x: torch.Tensor, weight: torch.Tensor) -> Callable[[], torch.Tensor]:
    more = None, layer.stride, layer.pad, layer.dilation, layer.groups
    return best([lambda a=a, b=b: torch.nn.functional.conv2d(a, b, *more) for a, b in layouts(x, weight)])


def gradient(layer: Layer, x: torch.Tensor, weight: torch.Tensor, dy: torch.Tensor, which: str) -> Callable[[], Any]:
    """which: dx or dw. Returns them among the three that aten returns."""
    two, mask = [layer.stride] * 2, [which == "dx", which == "dw", False]
    dy = dy.permute(0, 3, 1, 2)
    launches = []
    for a, b in layouts(x, weight):
        d = dy if a.is_contiguous(memory_format=torch.channels_last) else dy.contiguous()
        arguments = d, a, b, None, two, [layer.pad] * 2, [layer.dilation] * 2, False, [0, 0], layer.groups, mask
        launches.append(lambda arguments=arguments: torch.ops.aten.convolution_backward(*arguments))
    return best(launches)


# --8<-- [end:rivals]
