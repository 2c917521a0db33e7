"""The same steps in PyTorch: operation by operation, its own operators, and what torch.compile makes of the first."""

from collections.abc import Callable

import torch
from _fused import BETA1, BETA2, DECAY, RATE, TINY
from _reference import CUBIC, EPSILON, KAPPA
from torch import Tensor
from torch.nn import functional

aten = torch.ops.aten


# --8<-- [start:composed]
def layernorm(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    d = x - x.mean(1, keepdim=True)
    return d * torch.rsqrt((d * d).mean(1, keepdim=True) + EPSILON) * gamma + beta


def rmsnorm(x: Tensor, gamma: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).mean(1, keepdim=True) + EPSILON) * gamma


def layernorm_backward(dy: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
    normal = (x - mean) * scale
    g = dy * gamma
    dx = scale * (g - g.mean(1, keepdim=True) - normal * (g * normal).mean(1, keepdim=True))
    return dx, (dy * normal).sum(0), dy.sum(0)


def rmsnorm_backward(dy: Tensor, x: Tensor, gamma: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
    normal = x * scale
    g = dy * gamma
    return scale * (g - normal * (g * normal).mean(1, keepdim=True)), (dy * normal).sum(0)


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(KAPPA * (x + CUBIC * x * x * x)))


def gelu_backward(dy: Tensor, x: Tensor) -> Tensor:
    t = torch.tanh(KAPPA * (x + CUBIC * x * x * x))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (KAPPA * (1 + 3 * CUBIC * x * x)))


def classifier(x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of the mean loss, and the loss of each row."""
    log_p = x - torch.logsumexp(x, 1, keepdim=True)
    hot = torch.arange(x.shape[1], device=x.device) == label[:, None]
    return (torch.exp(log_p) - hot.to(x.dtype)) * (1 / len(x)), -torch.gather(log_p, 1, label[:, None])


def adamw(p: Tensor, g: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """The first step, in place."""
    p.mul_(1 - RATE * DECAY)
    m.lerp_(g, 1 - BETA1)
    v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
    p.addcdiv_(m, v.sqrt().mul_((1 - BETA2) ** -0.5).add_(TINY), value=-RATE / (1 - BETA1))
    return p, m, v


# --8<-- [end:composed]


def by_autograd(x: Tensor, label: Tensor) -> Tensor:
    x.requires_grad_()
    return torch.autograd.grad(functional.cross_entropy(x, label), x)[0]


def ways(
    x: Tensor, dy: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, scale: Tensor, rms: Tensor, label: Tensor
) -> dict[str, dict[str, Callable[[], object]]]:
    """Of every step on rows: {"eager", "torch", "compiled"}, functions that return the main result first."""
    n = [x.shape[1]]
    leaf, weight = x.detach().clone().requires_grad_(), gamma.detach().clone().requires_grad_()
    y = functional.rms_norm(leaf, n, weight, EPSILON)
    other = x.detach().clone()
    steps = {
        "layernorm_forward": (layernorm, (x, gamma, beta), lambda: functional.layer_norm(x, n, gamma, beta, EPSILON)),
        "rmsnorm_forward": (rmsnorm, (x, gamma), lambda: functional.rms_norm(x, n, gamma, EPSILON)),
        "layernorm_backward": (
            layernorm_backward,
            (dy, x, gamma, mean, scale),
            lambda: aten.native_layer_norm_backward(dy, x, n, mean, scale, gamma, beta, [True] * 3),
        ),
        "rmsnorm_backward": (
            rmsnorm_backward,
            (dy, x, gamma, rms),
            lambda: torch.autograd.grad(y, (leaf, weight), dy, retain_graph=True),
        ),
        "gelu_forward": (gelu, (x,), lambda: functional.gelu(x, approximate="tanh")),
        "gelu_backward": (gelu_backward, (dy, x), lambda: aten.gelu_backward(dy, x, approximate="tanh")),
        "classifier": (classifier, (x, label), lambda: by_autograd(other, label)),
    }
    return {name: three(function, arguments, own) for name, (function, arguments, own) in steps.items()}


def three(function: Callable, arguments: tuple[Tensor, ...], own: Callable[[], object]) -> dict:
    compiled = torch.compile(function, dynamic=False)
    return {"eager": lambda: function(*arguments), "torch": own, "compiled": lambda: compiled(*arguments)}


def steps_of_adamw(p: Tensor, g: Tensor) -> dict[str, Callable[[], object]]:
    """One way to take the first step is compiled from the operations above; each has parameters of its own."""

    def state() -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return p.clone(), g, torch.zeros_like(p), torch.zeros_like(p)

    one, three_arguments = state(), state()
    own = torch.nn.Parameter(p.clone())
    own.grad = g
    optimiser = torch.optim.AdamW(
        [own], lr=RATE, betas=(BETA1, BETA2), eps=TINY, weight_decay=DECAY, fused=p.is_cuda
    )  # fmt: skip
    compiled = torch.compile(adamw, dynamic=False)

    def step() -> Tensor:
        optimiser.step()
        return own.detach()

    return {"eager": lambda: adamw(*one), "torch": step, "compiled": lambda: compiled(*three_arguments)}
