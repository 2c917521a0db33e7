"""The same VAE in PyCUDA: seventeen launches per step of training, weights and averages in one array each."""

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _vae import DECAY, DECAY2, HIDDEN, LATENT, PIXELS, RATE, SIZES, TINY

PLACES, COUNT = {}, 0  # where a layer's weights begin among all, and how many there are
for name, (inputs, outputs) in SIZES.items():
    PLACES[name], COUNT = COUNT, COUNT + (inputs + 1) * outputs


def pack(p: dict[str, np.ndarray]) -> np.ndarray:
    """Weights by name as one array of float32."""
    return np.concatenate([p[name].ravel() for name in SIZES]).astype(np.float32)


def unpack(flat: np.ndarray) -> dict[str, np.ndarray]:
    shapes = {name: (i + 1, o) for name, (i, o) in SIZES.items()}
    return {name: flat[PLACES[name] :][: s[0] * s[1]].reshape(s) for name, s in shapes.items()}


def threads(count: int, block: int = 128) -> dict[str, tuple[int, ...]]:
    return {"block": (block, 1, 1), "grid": (-(-count // block), 1)}


def warps(rows: int, each: int = 4) -> dict[str, tuple[int, ...]]:
    """A warp per row."""
    return {"block": (32, each, 1), "grid": (-(-rows // each), 1)}


class Network:
    """Weights p on the device, and room for a batch of `rows` images."""

    def __init__(self, p: dict[str, np.ndarray], rows: int, latent: object = None) -> None:
        self.rows, self.steps, self.launches = rows, 0, 0
        self.fresh = (1 - DECAY, 1 - DECAY2)  # in float64: see steps.py
        self.modules = [wb.module("vae/layers.cu"), latent or wb.module("vae/latent.cu")]
        self.functions: dict[str, object] = {}
        self.weights = cuda.to_device(pack(p))
        self.m, self.v = (cuda.to_device(np.zeros(COUNT, np.float32)) for _ in range(2))
        widths = {"x": PIXELS, "noise": LATENT, "h": HIDDEN, "code": 2 * LATENT, "z": LATENT, "g": HIDDEN}
        widths |= {"logits": PIXELS, "nats": 1, "kl": 1, "dlogits": PIXELS, "dg": HIDDEN, "dz": LATENT}
        widths |= {"dcode": 2 * LATENT, "dh": HIDDEN}
        self.shapes = {name: (rows, width) for name, width in widths.items()} | {"grad": (COUNT,)}
        self.at = {name: cuda.mem_alloc(4 * int(np.prod(shape))) for name, shape in self.shapes.items()}

    def launch(self, kernel: str, *arguments: object, **shape: tuple[int, ...]) -> None:
        if kernel not in self.functions:
            self.functions[kernel] = self.modules[kernel.startswith("reparam")].get_function(kernel)
        exact = [np.int32(a) if isinstance(a, int) else np.float32(a) if isinstance(a, float) else a for a in arguments]
        self.functions[kernel](*exact, **shape)
        self.launches += 1

    def place(self, layer: str, of: str = "weights") -> np.uintp:
        base = self.weights if of == "weights" else self.at["grad"]
        return np.uintp(int(base) + 4 * PLACES[layer])

    def half(self, name: str) -> np.uintp:
        """log σ², which follows μ in each row."""
        return np.uintp(int(self.at[name]) + 4 * LATENT)

    def apply(self, layer: str, x: str, y: str, squash: bool) -> None:
        i, o = SIZES[layer]
        sizes = (self.rows, i, o, int(squash))
        self.launch("linear", self.at[x], self.place(layer), self.at[y], *sizes, **threads(self.rows * o))

    def revert(self, layer: str, dy: str, x: str, dx: str = "") -> None:
        i, o = SIZES[layer]
        sizes, dw = (self.rows, i, o), self.place(layer, "grad")
        self.launch("linear_dw", self.at[dy], self.at[x], dw, *sizes, **threads((i + 1) * o))
        if dx:
            self.launch("linear_dx", self.at[dy], self.place(layer), self.at[dx], *sizes, **threads(self.rows * i))

    # --8<-- [start:step]
    def step(self, x: np.ndarray, noise: np.ndarray, beta: float = 1.0, learn: bool = True) -> None:
        """Gradients of one batch, and with `learn` a step of Adam."""
        at, rows, latents = self.at, self.rows, (self.rows, LATENT, 2 * LATENT)
        cuda.memcpy_htod(at["x"], np.ascontiguousarray(x, np.float32))
        cuda.memcpy_htod(at["noise"], np.ascontiguousarray(noise, np.float32))
        mu, logvar, dmu, dlogvar = at["code"], self.half("code"), at["dcode"], self.half("dcode")

        self.apply("enter", "x", "h", squash=True)
        self.apply("encode", "h", "code", squash=False)
        self.launch("reparam_kl", mu, logvar, at["noise"], at["z"], at["kl"], *latents, **warps(rows))
        self.apply("unfold", "z", "g", squash=True)
        self.apply("decode", "g", "logits", squash=False)
        pixels = (at["logits"], at["x"], at["nats"], at["dlogits"], rows, PIXELS, 1.0 / rows)
        self.launch("nats", *pixels, **warps(rows))

        self.revert("decode", "dlogits", "g", "dg")
        self.launch("tanh_backward", at["dg"], at["g"], rows * HIDDEN, **threads(rows * HIDDEN))
        self.revert("unfold", "dg", "z", "dz")
        codes = (at["dz"], mu, logvar, at["noise"], dmu, dlogvar, *latents, beta / rows)
        self.launch("reparam_backward", *codes, **threads(rows * LATENT))
        self.revert("encode", "dcode", "h", "dh")
        self.launch("tanh_backward", at["dh"], at["h"], rows * HIDDEN, **threads(rows * HIDDEN))
        self.revert("enter", "dh", "x")

        if learn:
            self.steps += 1
            corrected = (1 - DECAY**self.steps, 1 - DECAY2**self.steps)
            averages = (self.weights, at["grad"], self.m, self.v, COUNT)
            self.launch("adam", *averages, RATE, *self.fresh, *corrected, TINY, **threads(COUNT))

    # --8<-- [end:step]

    def fill(self, bits: int = 0xFFFFFFFF) -> None:
        """NaN, or other bits, into all that a step should write."""
        for name, shape in self.shapes.items():
            cuda.memset_d32(self.at[name], bits, int(np.prod(shape)))

    def read(self, name: str) -> np.ndarray:
        got = np.empty(self.shapes[name], np.float32)
        cuda.memcpy_dtoh(got, self.at[name])
        return got

    def loss(self, beta: float = 1.0) -> float:
        """Of the last batch."""
        return float((self.read("nats") + beta * self.read("kl")).astype(np.float64).mean())

    def parameters(self) -> dict[str, np.ndarray]:
        flat = np.empty(COUNT, np.float32)
        cuda.memcpy_dtoh(flat, self.weights)
        return unpack(flat)
