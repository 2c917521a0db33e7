"""A VAE in NumPy and float64: layers with their gradients, the whole model, Adam, and what it is compared with."""

import numpy as np

PIXELS, HIDDEN, LATENT = 64, 32, 2
SIZES = {  # inputs and outputs of each layer; a bias is the weight of one more input, which is always 1
    "enter": (PIXELS, HIDDEN),
    "encode": (HIDDEN, 2 * LATENT),  # μ, then log σ²
    "unfold": (LATENT, HIDDEN),
    "decode": (HIDDEN, PIXELS),
}
RATE, DECAY, DECAY2, TINY = 1e-2, 0.9, 0.999, 1e-6  # Adam
SEEDS, EPOCHS, BATCH = 5, 80, 64


# --8<-- [start:linear]
def linear(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x W + b; the last row of w is b."""
    return x @ w[:-1] + w[-1]


def linear_backward(dy: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients for x and for w."""
    return dy @ w[:-1].T, np.vstack([x.T @ dy, dy.sum(0)])


# --8<-- [end:linear]


def tanh_backward(dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    return dy * (1 - y**2)


# --8<-- [start:latent]
def kl(mu: np.ndarray, logvar: np.ndarray) -> np.ndarray:
    """KL(N(μ, σ²) ‖ N(0, 1)) of each dimension, in nats."""
    return 0.5 * (mu**2 + np.exp(logvar) - 1 - logvar)


def reparameterise(mu: np.ndarray, logvar: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return mu + np.exp(0.5 * logvar) * noise


def latent_backward(
    dz: np.ndarray, mu: np.ndarray, logvar: np.ndarray, noise: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients for μ and log σ², if z has the gradient dz and the KL terms count `weight` each."""
    dmu = dz + weight * mu
    dlogvar = dz * noise * 0.5 * np.exp(0.5 * logvar) + weight * 0.5 * (np.exp(logvar) - 1)
    return dmu, dlogvar


# --8<-- [end:latent]


# --8<-- [start:bernoulli]
def nats(logits: np.ndarray, x: np.ndarray) -> np.ndarray:
    """−log p(x) of bits whose probabilities of being 1 are sigmoid(logits)."""
    return np.maximum(logits, 0) - logits * x + np.log1p(np.exp(-np.abs(logits)))


def nats_backward(logits: np.ndarray, x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1, e) / (1 + e) - x


# --8<-- [end:bernoulli]


def start(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random weights of variance 1 / inputs; biases are zero."""
    weights = {name: rng.standard_normal((i + 1, o)) / np.sqrt(i) for name, (i, o) in SIZES.items()}
    for w in weights.values():
        w[-1] = 0
    return weights


# --8<-- [start:model]
def forward(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray) -> dict[str, np.ndarray]:
    """All that the backward pass needs, by name."""
    h = np.tanh(linear(x, p["enter"]))
    mu, logvar = np.split(linear(h, p["encode"]), 2, axis=1)
    z = reparameterise(mu, logvar, noise)
    g = np.tanh(linear(z, p["unfold"]))
    return {"h": h, "mu": mu, "logvar": logvar, "z": z, "g": g, "logits": linear(g, p["decode"])}


def loss(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray, beta: float = 1.0) -> float:
    """−ELBO of the mean image, in nats, with the KL term counted β times."""
    f = forward(p, x, noise)
    return float((nats(f["logits"], x).sum(1) + beta * kl(f["mu"], f["logvar"]).sum(1)).mean())


def gradients(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray, beta: float = 1.0) -> dict[str, np.ndarray]:
    """Of the loss, for every weight."""
    f, grad = forward(p, x, noise), {}
    d, grad["decode"] = linear_backward(nats_backward(f["logits"], x) / len(x), f["g"], p["decode"])
    dz, grad["unfold"] = linear_backward(tanh_backward(d, f["g"]), f["z"], p["unfold"])
    d = np.hstack(latent_backward(dz, f["mu"], f["logvar"], noise, beta / len(x)))
    d, grad["encode"] = linear_backward(d, f["h"], p["encode"])
    _, grad["enter"] = linear_backward(tanh_backward(d, f["h"]), x, p["enter"])
    return grad


# --8<-- [end:model]


class Adam:
    """Kingma and Ba's optimiser, with the two corrections of its averages' start."""

    def __init__(self, p: dict[str, np.ndarray]) -> None:
        self.m, self.v = ({name: np.zeros_like(w) for name, w in p.items()} for _ in range(2))
        self.steps = 0

    def step(self, p: dict[str, np.ndarray], grad: dict[str, np.ndarray]) -> None:
        """Change p in place."""
        self.steps += 1
        for name, g in grad.items():
            self.m[name] += (1 - DECAY) * (g - self.m[name])
            self.v[name] += (1 - DECAY2) * (g * g - self.v[name])
            m, v = self.m[name] / (1 - DECAY**self.steps), self.v[name] / (1 - DECAY2**self.steps)
            p[name] -= RATE * m / (np.sqrt(v) + TINY)


def batches(rng: np.random.Generator, count: int, size: int = BATCH) -> list[np.ndarray]:
    """One epoch: indices of the images in each batch; those that do not fill a batch are left out."""
    return np.split(rng.permutation(count)[: count // size * size], count // size)


# --8<-- [start:bound]
def elbo(
    p: dict[str, np.ndarray], x: np.ndarray, rng: np.random.Generator, draws: int = 32
) -> tuple[float, np.ndarray]:
    """Nats of the mean image: for its pixels, averaged over `draws` samples of z, and the KL term of each latent."""
    f = forward(p, x, np.zeros((len(x), LATENT)))
    again = [forward(p, x, rng.standard_normal((len(x), LATENT)))["logits"] for _ in range(draws)]
    return float(np.mean([nats(a, x).sum(1).mean() for a in again])), kl(f["mu"], f["logvar"]).mean(0)


def bound(p: dict[str, np.ndarray], x: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """−ELBO in nats, and the KL term of each latent."""
    pixels, terms = elbo(p, x, np.random.default_rng(seed))
    return pixels + float(terms.sum()), terms


def exact_nats(p: dict[str, np.ndarray], x: np.ndarray, points: int = 161, reach: float = 6.0) -> float:
    """−log p(x) of the mean image by adding up p(x | z) p(z) on a fine grid: possible as z has two dimensions."""
    line = np.linspace(-reach, reach, points)
    z = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    logits = linear(np.tanh(linear(z, p["unfold"])), p["decode"])
    log_prior = -0.5 * (z**2).sum(1) - np.log(2 * np.pi) + 2 * np.log(line[1] - line[0])
    joint = x @ logits.T - np.logaddexp(0, logits).sum(1) + log_prior
    top = joint.max(axis=1)
    return float(-(top + np.log(np.exp(joint - top[:, None]).sum(1))).mean())


# --8<-- [end:bound]


# --8<-- [start:baselines]
def factorised(train: np.ndarray, test: np.ndarray) -> float:
    """Nats of the mean test image, if every pixel is a coin of its own: exact, no bound."""
    p = (train.sum(0) + 1) / (len(train) + 2)
    return float(-(test * np.log(p) + (1 - test) * np.log(1 - p)).sum(1).mean())


def mixture(train: np.ndarray, test: np.ndarray, rng: np.random.Generator, kinds: int = 10, rounds: int = 60) -> float:
    """The same for a mixture of ten such models, fitted by expectation maximisation without labels; exact, too."""
    belongs = rng.dirichlet(np.ones(kinds), len(train))
    for _ in range(rounds):
        share = (belongs.sum(0) + 1) / (len(train) + kinds)
        p = (belongs.T @ train + 1) / (belongs.sum(0)[:, None] + 2)
        log = train @ np.log(p).T + (1 - train) @ np.log(1 - p).T + np.log(share)
        belongs = np.exp(log - np.logaddexp.reduce(log, axis=1, keepdims=True))
    log = test @ np.log(p).T + (1 - test) @ np.log(1 - p).T + np.log(share)
    return float(-np.logaddexp.reduce(log, axis=1).mean())


# --8<-- [end:baselines]
