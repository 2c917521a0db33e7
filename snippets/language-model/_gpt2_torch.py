"""The same model and optimiser in PyTorch: bf16 by autocast, parameters in fp32, fused attention and AdamW."""

from typing import Any

import numpy as np
import torch
from _gpt2 import BETA, BETA2, CLIP, DECAY, HEAD, TINY, Arrays, Config
from torch import Tensor, nn
from torch.nn import functional

RATE = 6e-4


# --8<-- [start:model]
class Block(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.norm_a, self.norm_m = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.join = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def attend(self, x: Tensor) -> Tensor:
        batch, time, d = x.shape
        q, k, v = (part.view(batch, time, -1, HEAD).transpose(1, 2) for part in self.qkv(x).split(d, 2))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.join(out.transpose(1, 2).reshape(batch, time, d))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm_a(x))
        return x + self.down(functional.gelu(self.up(self.norm_m(x)), approximate="tanh"))


class Gpt(nn.Module):
    """The loss of a batch. The embedding is also the matrix of the logits, padded as ours is."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.padded, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config.width) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.tokens.weight)
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten())


# --8<-- [end:model]


def names_of(config: Config) -> dict[str, str]:
    """Our names of the parameters, by PyTorch's."""
    found = {"tokens.weight": "tokens", "positions.weight": "positions", "norm.weight": "gain", "norm.bias": "bias"}
    for k in range(config.layers):
        for kind in ("a", "m"):
            found |= {
                f"blocks.{k}.norm_{kind}.weight": f"gain_{kind}{k}",
                f"blocks.{k}.norm_{kind}.bias": f"bias_{kind}{k}",
            }
        for kind in ("qkv", "join", "up", "down"):
            found |= {f"blocks.{k}.{kind}.weight": f"{kind}{k}", f"blocks.{k}.{kind}.bias": f"bias_{kind}{k}"}
    return found


class Rival:
    """Trains on a batch that stays on the device, as ours does."""

    def __init__(self, config: Config, p: Arrays, compiled: bool, device: str = "cuda") -> None:
        self.config, self.device, self.names = config, device, names_of(config)
        self.model = Gpt(config).to(device)
        self.parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, to in self.parameters.items():
                to.copy_(torch.from_numpy(np.ascontiguousarray(p[self.names[name]])))
        groups: list[dict[str, Any]] = [
            {"params": [w for w in self.parameters.values() if w.ndim == 2], "weight_decay": DECAY},
            {"params": [w for w in self.parameters.values() if w.ndim == 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(BETA, BETA2), eps=TINY, fused=device == "cuda")
        self.loss_of = torch.compile(self.model, dynamic=False) if compiled else self.model

    def give(self, tokens: np.ndarray, target: np.ndarray) -> None:
        shape = self.config.batch, self.config.context
        self.batch = [torch.from_numpy(x.astype(np.int64)).reshape(shape).to(self.device) for x in (tokens, target)]

    # --8<-- [start:step]
    def backward(self) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = self.loss_of(*self.batch)
        loss.backward()
        return loss

    def step(self) -> None:
        self.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimiser.step()

    # --8<-- [end:step]

    def gradients(self) -> tuple[float, Arrays]:
        """The loss, and every gradient by our names."""
        loss = float(self.backward().detach())
        return loss, {self.names[name]: w.grad.float().cpu().numpy() for name, w in self.parameters.items()}
