"""How often torch.compile compiles."""

from collections.abc import Callable
from typing import Any

from _gate import torch

# --8<-- [start:backend]
compilations: list[torch.fx.GraphModule] = []


def counting(graph, inputs):
    compilations.append(graph)
    return graph.forward


# --8<-- [end:backend]


def count(what: str, function: Callable, *calls: tuple, **options: Any) -> None:
    """Print how many compilations there have been after each of the calls."""
    torch._dynamo.reset()
    compilations.clear()
    compiled = torch.compile(function, backend=counting, **options)
    so_far = []
    for arguments in calls:
        compiled(*arguments)
        so_far.append(len(compilations))
    print(f"{what:34}", *so_far)


def sized(*sizes: int) -> list[tuple[torch.Tensor]]:
    """Calls with a vector of each of these sizes."""
    return [(torch.ones(size),) for size in sizes]
