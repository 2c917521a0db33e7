"""The same model in PyCUDA. Parameters, gradients and the two averages of AdamW are one array each."""

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _model import DECAY, DECAY2, SHRINK, TINY, Arrays, Size, angles


def threads(count: int, block: int = 128) -> dict[str, tuple[int, ...]]:
    return {"block": (block, 1, 1), "grid": (-(-count // block), 1)}


def warps(rows: int, each: int = 4) -> dict[str, tuple[int, ...]]:
    """A warp per row."""
    return {"block": (32, each, 1), "grid": (-(-rows // each), 1)}


class Network:
    """Parameters p on the device, and room for a batch."""

    def __init__(self, p: Arrays, size: Size, module: object = None) -> None:
        self.size, self.rows, self.steps, self.launches = size, size.batch * size.context, 0, 0
        self.module = module or wb.module("language-model/model.cu", HEAD=size.head, CONTEXT=size.context)
        self.functions: dict[str, object] = {}
        self.places, self.count = {}, 0
        for name, shape in size.shapes.items():
            self.places[name], self.count = self.count, self.count + int(np.prod(shape))
        self.decaying = self.places["gain_a0"]
        d, rows, token, real = size.width, self.rows, np.int32, np.float32
        self.kinds = {"tokens": (rows, token), "target": (rows, token), "order": (rows, token)}
        self.kinds |= {"begin": (size.vocabulary + 1, token), "turn": (size.context * size.head, real)}
        self.kinds |= dict.fromkeys(("weights", "grad", "m", "v"), (self.count, real))
        self.kinds |= dict.fromkeys(("x", "n", "dx", "dn", "dout"), (rows * d, real))
        self.kinds |= {"scale": (rows, real), "logits": (rows * size.vocabulary, real), "loss": (rows, real)}
        self.kinds |= {"dqkv": (3 * rows * d, real), "dact": (4 * rows * d, real)}
        for k in range(size.blocks):
            self.kinds |= {f"{name}{k}": (rows * d, real) for name in ("x", "n_a", "out", "middle", "n_m")}
            self.kinds |= {f"{name}{k}": (4 * rows * d, real) for name in ("up", "act")}
            self.kinds |= {f"{name}{k}": (rows, real) for name in ("scale_a", "scale_m")}
            self.kinds |= {f"qkv{k}": (3 * rows * d, real), f"lse{k}": (rows * size.heads, real)}
        self.at = {name: cuda.mem_alloc(4 * count) for name, (count, _) in self.kinds.items()}
        self.write("weights", np.concatenate([p[name].ravel() for name in size.shapes]))
        for name in ("m", "v"):
            self.write(name, np.zeros(self.count))
        self.write("turn", np.stack(angles(size.context, size.head), -1))

    def write(self, name: str, values: np.ndarray) -> None:
        cuda.memcpy_htod(self.at[name], np.ascontiguousarray(values, self.kinds[name][1]))

    def read(self, name: str) -> np.ndarray:
        got = np.empty(self.kinds[name][0], self.kinds[name][1])
        cuda.memcpy_dtoh(got, self.at[name])
        return got

    def named(self, of: str) -> Arrays:
        """Parameters, gradients or averages by name."""
        flat = self.read(of)
        return {n: flat[self.places[n] :][: int(np.prod(s))].reshape(s) for n, s in self.size.shapes.items()}

    def poison(self) -> None:
        """NaN into all that a step should write."""
        for name in self.kinds.keys() - {"weights", "m", "v", "turn"}:
            cuda.memset_d32(self.at[name], 0xFFFFFFFF, self.kinds[name][0])

    def launch(self, kernel: str, *arguments: object, **shape: tuple[int, ...]) -> None:
        if kernel not in self.functions:
            self.functions[kernel] = self.module.get_function(kernel)
        exact = [
            self.at[a] if isinstance(a, str) else np.int32(a) if isinstance(a, int) else np.float32(a)
            if isinstance(a, float) else a for a in arguments
        ]  # fmt: skip
        self.functions[kernel](*exact, **shape)
        self.launches += 1

    def part(self, of: str, name: str) -> np.uintp:
        """Where a parameter begins in `weights`, or its gradient in `grad`."""
        return np.uintp(int(self.at[of]) + 4 * self.places[name])

    # --8<-- [start:layers]
    def linear(self, x: str, name: str, y: str, more: bool = False) -> None:
        i, o = self.size.shapes[name]
        tiles = -(-self.rows // 8) * o // 4
        self.launch("linear", x, self.part("weights", name), y, self.rows, i, o, int(more), **threads(tiles))

    def linear_backward(self, dy: str, x: str, name: str, dx: str) -> None:
        (i, o), rows = self.size.shapes[name], self.rows
        tiles, of_w = -(-rows // 8) * i // 4, -(-i // 8) * o // 4
        self.launch("linear_backward_x", dy, self.part("weights", name), dx, rows, i, o, **threads(tiles))
        self.launch("linear_backward_w", dy, x, self.part("grad", name), rows, i, o, **threads(of_w))

    def norm(self, x: str, name: str, y: str, scale: str) -> None:
        self.launch(
            "normalise", x, self.part("weights", name), y, scale, self.rows, self.size.width, **warps(self.rows)
        )

    def norm_backward(self, dy: str, x: str, name: str, scale: str, more: bool = True) -> None:
        rows, d, gain = self.rows, self.size.width, self.part("weights", name)
        self.launch("norm_backward", dy, x, gain, scale, "dx", rows, d, int(more), **warps(rows))
        shape = {"block": (32, 32, 1), "grid": (-(-d // 32), 1)}
        self.launch("gain_backward", dy, x, scale, self.part("grad", name), rows, d, **shape)

    # --8<-- [end:layers]

    def give(self, tokens: np.ndarray, target: np.ndarray) -> None:
        """A batch; and where each token stands, for the embedding's gradient."""
        flat = tokens.ravel()
        self.write("tokens", flat)
        self.write("target", target.ravel())
        self.write("order", np.argsort(flat, kind="stable"))
        self.write("begin", np.r_[0, np.bincount(flat, minlength=self.size.vocabulary).cumsum()])

    # --8<-- [start:forward]
    def forward(self) -> None:
        s, rows, d = self.size, self.rows, self.size.width
        grid = {"block": (s.context, 1, 1), "grid": (s.heads, s.batch)}
        stream = [*(f"x{k}" for k in range(s.blocks)), "x"]
        self.launch("embed", self.part("weights", "embedding"), "tokens", "x0", rows, d, **threads(rows * d))
        for k in range(s.blocks):
            self.norm(f"x{k}", f"gain_a{k}", f"n_a{k}", f"scale_a{k}")
            self.linear(f"n_a{k}", f"qkv{k}", f"qkv{k}")
            self.launch("rotary", f"qkv{k}", "turn", rows, d, **threads(rows * d))
            self.launch("attention", f"qkv{k}", f"out{k}", f"lse{k}", d, **grid)
            self.keep(stream[k], f"middle{k}")
            self.linear(f"out{k}", f"join{k}", f"middle{k}", more=True)
            self.norm(f"middle{k}", f"gain_m{k}", f"n_m{k}", f"scale_m{k}")
            self.linear(f"n_m{k}", f"up{k}", f"up{k}")
            self.launch("gelu", f"up{k}", f"act{k}", 4 * rows * d, **threads(4 * rows * d))
            self.keep(f"middle{k}", stream[k + 1])
            self.linear(f"act{k}", f"down{k}", stream[k + 1], more=True)
        self.norm("x", "gain", "n", "scale")
        tiles = -(-rows // 8) * s.vocabulary // 4
        table = self.part("weights", "embedding")
        self.launch("linear_backward_x", "n", table, "logits", rows, s.vocabulary, d, **threads(tiles))

    # --8<-- [end:forward]

    def classify(self) -> None:
        """The loss of each token; logits become their gradients."""
        rows = (self.rows, self.size.vocabulary, 1.0 / self.rows)
        self.launch("loss_backward", "logits", "target", "loss", *rows, **warps(self.rows))

    def keep(self, x: str, y: str) -> None:
        """A copy of the residual stream, to which the next layer is added."""
        cuda.memcpy_dtod(self.at[y], self.at[x], 4 * self.kinds[x][0])

    # --8<-- [start:backward]
    def backward(self) -> None:
        s, rows, d, v = self.size, self.rows, self.size.width, self.size.vocabulary
        grid = {"block": (s.context, 1, 1), "grid": (s.heads, s.batch)}
        table, dtable = self.part("weights", "embedding"), self.part("grad", "embedding")
        self.classify()
        tiles = -(-rows // 8) * d // 4
        self.launch("linear", "logits", table, "dn", rows, v, d, 0, **threads(tiles))
        self.launch("linear_backward_w", "n", "logits", dtable, rows, v, d, **threads(-(-v // 8) * d // 4))
        self.norm_backward("dn", "x", "gain", "scale", more=False)
        for k in reversed(range(s.blocks)):
            self.linear_backward("dx", f"act{k}", f"down{k}", "dact")
            self.launch("gelu_backward", "dact", f"up{k}", 4 * rows * d, **threads(4 * rows * d))
            self.linear_backward("dact", f"n_m{k}", f"up{k}", "dn")
            self.norm_backward("dn", f"middle{k}", f"gain_m{k}", f"scale_m{k}")
            self.linear_backward("dx", f"out{k}", f"join{k}", "dout")
            self.launch("attention_backward", "dout", f"out{k}", f"qkv{k}", f"lse{k}", "dqkv", d, **grid)
            self.launch("rotary_backward", "dqkv", "turn", rows, d, **threads(rows * d))
            self.linear_backward("dqkv", f"n_a{k}", f"qkv{k}", "dn")
            self.norm_backward("dn", f"x{k}", f"gain_a{k}", f"scale_a{k}")
        self.launch("embed_backward", "dx", "order", "begin", dtable, d, block=(min(d, 64), 1, 1), grid=(v, 1))

    # --8<-- [end:backward]

    def learn(self, lr: float) -> None:
        """A step of AdamW. Constants are subtracted from 1 in float64."""
        self.steps += 1
        fresh, corrected = (1 - DECAY, 1 - DECAY2), (1 - DECAY**self.steps, 1 - DECAY2**self.steps)
        arrays = ("weights", "grad", "m", "v", self.count, self.decaying)
        self.launch("adamw", *arrays, float(lr), SHRINK, *fresh, *corrected, TINY, **threads(self.count))

    def step(self, tokens: np.ndarray, target: np.ndarray, lr: float) -> None:
        self.give(tokens, target)
        self.forward()
        self.backward()
        self.learn(lr)

    def loss(self) -> float:
        """Nats per token of the last batch."""
        return float(self.read("loss").mean(dtype=np.float64))
