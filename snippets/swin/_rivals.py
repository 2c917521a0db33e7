"""The same layer in PyTorch: as the authors' code does it, with scaled_dot_product_attention, and compiled."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


# --8<-- [start:published]
def to_windows(x: Tensor, m: int, shift: int) -> Tensor:
    b, h, w, c = x.shape
    x = torch.roll(x, (-shift, -shift), (1, 2))
    return x.view(b, h // m, m, w // m, m, c).transpose(2, 3).contiguous()


def to_map(cut: Tensor, shape: tuple[int, ...], m: int, shift: int) -> Tensor:
    b, h, w, c = shape
    x = cut.view(b, h // m, w // m, m, m, c).transpose(2, 3).reshape(b, h, w, c)
    return torch.roll(x, (shift, shift), (1, 2))


def published(x: Tensor, qkv: Tensor, table: Tensor, index: Tensor, mask: Tensor, m: int,
              shift: int) -> tuple[Tensor, Tensor]:  # fmt: skip
    """x goes to windows; its q, k and v, which a linear layer would compute there, are given as windows."""
    cut = to_windows(x, m, shift)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    s = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1) + table[:, index]
    s = s.view(len(x), len(mask), *s.shape[1:]) + mask[:, None]
    out = torch.softmax(s, -1).flatten(0, 1) @ v
    return to_map(out.transpose(1, 2).reshape(*out.shape[::2], -1), x.shape, m, shift), cut


# --8<-- [end:published]


# --8<-- [start:sdpa]
def with_sdpa(x: Tensor, qkv: Tensor, added: Tensor, m: int, shift: int) -> tuple[Tensor, Tensor]:
    """Bias and mask were added up before, for every window of the batch."""
    cut = to_windows(x, m, shift)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=added)
    return to_map(out.transpose(1, 2).reshape(*out.shape[::2], -1), x.shape, m, shift), cut


# --8<-- [end:sdpa]


def ways(x: Tensor, qkv: Tensor, table: Tensor, index: Tensor, mask: Tensor, m: int,
         shift: int) -> dict[str, Callable[[], tuple[Tensor, Tensor]]]:  # fmt: skip
    """qkv is windows × m² × 3 × heads × channels, table heads × (2m - 1)², mask windows of a map × m² × m²."""
    added = (table[:, index] + mask[:, None]).repeat(len(x), 1, 1, 1)
    compiled = torch.compile(published, dynamic=False)
    return {
        "eager": lambda: published(x, qkv, table, index, mask, m, shift),
        "sdpa": lambda: with_sdpa(x, qkv, added, m, shift),
        "compiled": lambda: compiled(x, qkv, table, index, mask, m, shift),
    }
