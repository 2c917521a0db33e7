"""A VAE with two latents on 8 × 8 digits, trained in NumPy and float64: five seeds, two baselines, several β.

steps.py shows that kernels take the same steps. This program needs no GPU and no CUDA.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # these matrices are too small to share

import numpy as np
import warpbench as wb
from _digits import SIDE, digits, split
from _vae import (
    BATCH,
    EPOCHS,
    LATENT,
    SEEDS,
    Adam,
    batches,
    bound,
    elbo,
    exact_nats,
    factorised,
    forward,
    gradients,
    linear,
    mixture,
    nats,
    start,
)

BETAS = (0.25, 1.0, 2.0, 4.0, 64.0)
EDGE, PANEL = 3.0, 40  # of the pictures of the latent plane: from −3 to 3, and bits across


# --8<-- [start:train]
def train_numpy(
    seed: int, beta: float = 1.0, watch: bool = False
) -> tuple[dict[str, np.ndarray], list[tuple[float, float]]]:
    """Weights; with `watch`, every fourth epoch the nats of held-out images: for the pixels, and for the KL term."""
    rng, (train, test, _) = np.random.default_rng(seed), split(seed)
    p = start(rng)
    adam, told = Adam(p), []
    for epoch in range(EPOCHS):
        for batch in batches(rng, len(train)):
            adam.step(p, gradients(p, train[batch], rng.standard_normal((BATCH, LATENT)), beta))
        if watch and epoch % 4 == 3:
            pixels, terms = elbo(p, test, np.random.default_rng(seed))
            told.append((pixels, float(terms.sum())))
    return p, told


# --8<-- [end:train]


def compare_seeds() -> list[dict[str, np.ndarray]]:
    """Five seeds: another split, other weights, other noise. Returns the weights."""
    columns = ("factorised", "mixture", "vae", "exact", "seen")
    rows, weights = [], []
    print("nats per held-out image\nseed   factorised   mixture of 10   VAE, bound   VAE, exact   bound on seen images")
    for seed in range(SEEDS):
        train, test, _ = split(seed)
        p, told = train_numpy(seed, watch=seed == 0)
        weights.append(p)
        alone, mixed = factorised(train, test), mixture(train, test, np.random.default_rng(seed))
        row = [alone, mixed, bound(p, test, seed)[0], exact_nats(p, test), bound(p, train, seed)[0]]
        rows.append(row)
        print(f"{seed:4}{row[0]:13.2f}{row[1]:16.2f}{row[2]:13.2f}{row[3]:13.2f}{row[4]:18.2f}")
        if not row[3] <= row[2] < row[0]:
            raise AssertionError(f"seed {seed}: the bound is no bound, or worse than independent pixels")
        if seed == 0:
            epochs = range(4, EPOCHS + 1, 4)
            for name, y in (
                ("pixels", [a for a, _ in told]),
                ("kl", [b for _, b in told]),
                ("total", [a + b for a, b in told]),
            ):
                wb.series(f"{name}.epochs", epochs, y, x_unit="count", unit="1")
    for name, values in zip(columns, np.transpose(rows), strict=True):
        wb.value(f"{name}.nats", values.mean(), "1", (values.min(), values.max()))
    print("mean" + "".join(f"{m:{w}.2f}" for m, w in zip(np.mean(rows, 0), (13, 16, 13, 13, 18), strict=True)))
    return weights


def compare_betas(p: dict[str, np.ndarray]) -> None:
    """Seed 0 again with the KL term counted β times; the bound itself always counts it once."""
    _, test, _ = split(0)
    print("\n    β   pixels   KL of each latent     bound   exact")
    told = []
    for beta in BETAS:
        q = p if beta == 1 else train_numpy(0, beta)[0]
        total, terms = bound(q, test, 0)
        told.append((total - terms.sum(), terms.sum(), total))
        print(
            f"{beta:5g}{told[-1][0]:9.2f}   {max(terms):8.3f} {min(terms):8.3f}{total:12.2f}{exact_nats(q, test):8.2f}"
        )
        wb.value(f"beta{f'{beta:g}'.replace('.', '_')}.kl", terms.sum(), "1")
        wb.value(f"beta{f'{beta:g}'.replace('.', '_')}.nats", total, "1")
    for name, y in zip(("pixels", "kl", "total"), zip(*told, strict=True), strict=True):
        wb.series(f"{name}.betas", BETAS, y, x_unit="count", unit="1")


def compare_mistakes(p: dict[str, np.ndarray]) -> None:
    """What an older program does when it generates: log σ² in the place of σ."""
    _, test, _ = split(0)
    noise = np.random.default_rng(0).standard_normal((len(test), LATENT))
    f = forward(p, test, noise)
    wrong = linear(np.tanh(linear(f["mu"] + f["logvar"] * noise, p["unfold"])), p["decode"])
    for name, logits in (("right", f["logits"]), ("wrong", wrong)):
        wb.value(f"{name}.nats", nats(logits, test).sum(1).mean(), "1")
    sigma = np.exp(0.5 * f["logvar"])
    wb.value("code.sigma", sigma.mean(), "1")
    wb.value("code.spread", np.sqrt((f["mu"].var(0) + (sigma**2).mean(0)).mean()), "1")
    print(f"\nσ of a code: {sigma.mean():.2f} on average; of all codes together: {np.sqrt(f['z'].var(0).mean()):.1f}")
    print(f"pixels from μ + σ ε: {nats(f['logits'], test).sum(1).mean():.1f} nats; ", end="")
    print(f"with log σ² in the place of σ: {nats(wrong, test).sum(1).mean():.1f}")


def draw_pictures(p: dict[str, np.ndarray]) -> None:
    """Some images, the codes of the held-out ones by digit, and what the decoder makes of a grid of codes."""
    images, labels = digits()
    sheet = np.zeros((4 * 9 - 1, 10 * 9 - 1), int)
    for d in range(10):
        for k, image in enumerate(images[labels == d][:4]):
            sheet[9 * k : 9 * k + SIDE, 9 * d : 9 * d + SIDE] = image.reshape(SIDE, SIDE)
    wb.matrix("images", sheet)

    _, test, held = split(0)
    mu = forward(p, test, np.zeros((len(test), LATENT)))["mu"]
    at = np.clip(np.rint((mu + EDGE) / (2 * EDGE) * (PANEL - 3)).astype(int) + 1, 1, PANEL - 2)
    panels = np.zeros((10, PANEL, PANEL), int)
    panels[:, [0, -1]] = panels[:, :, [0, -1]] = 1
    panels[held, PANEL - 1 - at[:, 1], at[:, 0]] = 1
    rows = [np.hstack([np.pad(panel, 2) for panel in panels[k : k + 5]]) for k in (0, 5)]
    wb.matrix("codes", np.vstack(rows))

    line = np.linspace(-2, 2, 8)
    z = np.stack(np.meshgrid(line, line[::-1]), -1).reshape(-1, 2)  # upwards, as above
    logits = linear(np.tanh(linear(z, p["unfold"])), p["decode"])
    tiles = (1 / (1 + np.exp(-logits))).reshape(8, 8, SIDE, SIDE)
    wb.matrix("decoded", tiles.transpose(0, 2, 1, 3).reshape(8 * SIDE, 8 * SIDE))


if __name__ == "__main__":
    wb.measure_cpu()
    trained = compare_seeds()
    compare_betas(trained[0])
    compare_mistakes(trained[0])
    draw_pictures(trained[0])
