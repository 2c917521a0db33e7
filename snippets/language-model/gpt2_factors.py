"""What makes a plain PyTorch trainer fast, factor by factor: the changes of rasbt/LLMs-from-scratch on this GPU.

Each rung keeps the changes of those before it. Two neighbours are timed in turn, so that a factor compares one clock
and one temperature.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(gpu=True)
wb.needs(memory=100 * 2**30, packages=("torch", "triton"))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from warppairs import Meter, pairs, share_of, spread  # noqa: E402

WIDTH, HEADS, LAYERS, CONTEXT, DROPPED, RATE = 768, 12, 12, 1024, 0.1, 5e-4
SECONDS = 3.0


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    """A way to train the model, and the name of what it changed against the one before."""

    name: str = "plain"
    tf32: bool = False  # fp32 products on tensor cores
    fused: bool = False  # AdamW in one kernel
    bf16: bool = False  # parameters and activations
    native: bool = False  # LayerNorm and GELU as operators
    flash: bool = False  # attention without its matrix, and one product for queries, keys and values
    compiled: bool = False
    vocabulary: int = 50257
    batch: int = 8


def ladder() -> list[Rung]:
    rungs = [Rung()]
    for name, change in (
        ("tf32", {"tf32": True}),
        ("adamw", {"fused": True}),
        ("bf16", {"bf16": True}),
        ("native", {"native": True}),
        ("flash", {"flash": True}),
        ("compile", {"compiled": True}),
        ("padding", {"vocabulary": 50304}),
        ("batch", {"batch": 32}),
    ):
        rungs.append(replace(rungs[-1], name=name, **change))
    return rungs


# --8<-- [end:rungs]


# --8<-- [start:plain]
class Norm(nn.Module):
    """LayerNorm operation by operation: each reads and writes the whole activation."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.gain * centred / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) + self.bias


class Gelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3))))


class Attention(nn.Module):
    """With the matrix of weights in memory: scores, mask, softmax and dropout are operations on it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.join, self.drop = nn.Linear(WIDTH, WIDTH), nn.Dropout(DROPPED)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (heads_of(layer(x)) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(2, 3)
        later = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(later, -torch.inf) / k.shape[-1] ** 0.5, dim=-1)
        return self.join((self.drop(weights) @ v).transpose(1, 2).flatten(2))


# --8<-- [end:plain]


class Flash(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.join = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (heads_of(part) for part in self.qkv(x).split(WIDTH, 2))
        dropped = DROPPED if self.training else 0.0
        out = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropped, is_causal=True)
        return self.join(out.transpose(1, 2).flatten(2))


def heads_of(x: Tensor) -> Tensor:
    return x.unflatten(2, (HEADS, -1)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, rung: Rung) -> None:
        super().__init__()
        norm: Callable[[int], nn.Module] = nn.LayerNorm if rung.native else Norm
        gelu = nn.GELU(approximate="tanh") if rung.native else Gelu()
        self.norms = nn.ModuleList([norm(WIDTH), norm(WIDTH)])
        self.attention = Flash() if rung.flash else Attention()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), gelu, nn.Linear(4 * WIDTH, WIDTH))
        self.drop = nn.Dropout(DROPPED)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attention(self.norms[0](x)))
        return x + self.drop(self.layers(self.norms[1](x)))


class Model(nn.Module):
    """Logits; the matrix that computes them is not the embedding."""

    def __init__(self, rung: Rung) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(rung.vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(rung) for _ in range(LAYERS)))
        norm: Callable[[int], nn.Module] = nn.LayerNorm if rung.native else Norm
        self.drop, self.norm = nn.Dropout(DROPPED), norm(WIDTH)
        self.out = nn.Linear(WIDTH, rung.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.norm(self.blocks(self.drop(self.tokens(tokens) + self.positions.weight))))


# --8<-- [start:trainer]
class Trainer:
    """Steps of one rung on random tokens. `high` lets fp32 products use tensor cores, and is set for each step."""

    def __init__(self, rung: Rung) -> None:
        self.rung = rung
        model = Model(rung).to("cuda", torch.bfloat16 if rung.bf16 else torch.float32)
        # Not dynamic: else the second size of a batch would be compiled for batches of any size.
        self.model = torch.compile(model, dynamic=False) if rung.compiled else model
        fused = rung.fused or None  # False would also rule out the default, which takes many parameters per kernel
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1, fused=fused)
        self.batch, self.target = torch.randint(0, 50257, (2, rung.batch, CONTEXT), device="cuda")

    def step(self) -> Tensor:
        torch.set_float32_matmul_precision("high" if self.rung.tf32 else "highest")
        self.optimiser.zero_grad()
        loss = functional.cross_entropy(self.model(self.batch).flatten(0, 1), self.target.flatten())
        loss.backward()
        self.optimiser.step()
        return loss.detach()

    @property
    def tokens(self) -> int:
        return self.rung.batch * CONTEXT


# --8<-- [end:trainer]


def check_rung(trainer: Trainer) -> None:
    """A fresh model's loss is near that of a guess, and steps on one batch lower it."""
    first = float(trainer.step())
    wb.check(first, np.log(trainer.rung.vocabulary), 0.7, f"{trainer.rung.name}: first loss")
    for _ in range(10):
        last = float(trainer.step())
    if not last < first - 0.05:
        raise AssertionError(f"{trainer.rung.name}: loss {first:.3f}, and {last:.3f} after ten steps on one batch")


def run() -> None:
    before: Trainer | None = None
    for rung in ladder():
        torch.manual_seed(1126)
        trainer = Trainer(rung)
        check_rung(trainer)
        if before is None:
            before = trainer
            continue
        now, then = pairs(trainer.step, before.step, SECONDS, Meter())
        if before.rung.name == "plain":
            record_rate(before, then.seconds)
        record_rate(trainer, now.seconds)
        share, low, high = (x / 100 * trainer.tokens / before.tokens for x in share_of(now, then))
        wb.value(f"{rung.name}.factor", share, "count", (low, high))
        print(
            f"{rung.name:8} {trainer.tokens / np.median(now.seconds):9.0f} tokens/s, {share:.2f} times the one before"
        )
        before = trainer
        torch.cuda.empty_cache()


def record_rate(trainer: Trainer, seconds: list[float]) -> None:
    median, fast, slow = spread(seconds)
    name = trainer.rung.name
    wb.value(f"{name}.tokens", trainer.tokens / median, "1/s", (trainer.tokens / slow, trainer.tokens / fast))


if __name__ == "__main__":
    run()
