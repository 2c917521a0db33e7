"""GPT-2's shapes in PyCUDA: bf16 with fp32 master weights. One launch after the other on one stream, no atomics."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from pycuda import compiler
from tensormaps import BFLOAT16, tensor_map

Arrays = dict[str, np.ndarray]
HEAD = 64  # channels of a head, and columns of a box that the copy engine fetches
ROWS, COLUMNS = 128, 256  # of a tile of a product
STAGES, PARTS = 3, 1024
A_HEADS, B_HEADS, C_HEADS = 1, 2, 4
LOG2E = 1.4426950408889634
BETA, BETA2, TINY, DECAY, CLIP = 0.9, 0.95, 1e-8, 0.1, 1.0


# --8<-- [start:config]
@dataclass(frozen=True)
class Config:
    """Of a model with the blocks of GPT-2, and of a batch. The context is a multiple of 128, a head has 64 channels."""

    vocabulary: int = 50257
    context: int = 1024
    layers: int = 12
    heads: int = 12
    batch: int = 16

    @property
    def width(self) -> int:
        return HEAD * self.heads

    @property
    def rows(self) -> int:
        """Tokens of a batch."""
        return self.batch * self.context

    @property
    def padded(self) -> int:
        """Rows of the embedding: whole tiles of 128, so that every product has rows of whole boxes."""
        return -(-self.vocabulary // 128) * 128

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all parameters: matrices first, since only these decay. Linear layers are [out, in]."""
        d = self.width
        found: dict[str, tuple[int, ...]] = {"tokens": (self.padded, d), "positions": (self.context, d)}
        for k in range(self.layers):
            found |= {f"qkv{k}": (3 * d, d), f"join{k}": (d, d), f"up{k}": (4 * d, d), f"down{k}": (d, 4 * d)}
        for k in range(self.layers):
            found |= {f"gain_a{k}": (d,), f"bias_a{k}": (d,), f"bias_qkv{k}": (3 * d,), f"bias_join{k}": (d,)}
            found |= {f"gain_m{k}": (d,), f"bias_m{k}": (d,), f"bias_up{k}": (4 * d,), f"bias_down{k}": (d,)}
        return found | {"gain": (d,), "bias": (d,)}

    @property
    def products(self) -> list[tuple[int, int]]:
        """Shapes of the matrices whose gradient is a product: all but the table of positions."""
        return [(s[0], s[1]) for name, s in self.shapes.items() if len(s) == 2 and name != "positions"]


GPT2 = Config()
SMALL = Config(vocabulary=250, context=128, layers=2, heads=5, batch=2)  # tiles at every edge
# --8<-- [end:config]


def to_bf16(x: np.ndarray) -> np.ndarray:
    """The bits of the nearest bf16 numbers; of two as near, the even one."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def start(rng: np.random.Generator, config: Config, size: float = 0.02) -> Arrays:
    """Numbers that bf16 has: small random matrices, smaller still where the stream is written to; gains are 1."""
    found = {}
    for name, shape in config.shapes.items():
        if len(shape) == 2:
            deviation = size / np.sqrt(2 * config.layers) if name.startswith(("join", "down")) else size
            w = deviation * rng.standard_normal(shape, dtype=np.float32)
        else:
            w = np.full(shape, float(name.startswith("gain")), np.float32)
        found[name] = from_bf16(to_bf16(w))
    found["tokens"][config.vocabulary :] = 0
    return found


@functools.cache
def box_map(address: int, rows: int, columns: int) -> np.ndarray:
    """A bf16 matrix for the copy engine, in boxes of 64 x 64."""
    return tensor_map(address, (columns, rows), (64, 64), BFLOAT16)


@functools.cache
def module(file: str, **macros: int) -> Any:
    """snippets/`file` for sm_90a, which has wgmma; its includes are relative to snippets/language-model."""
    options = ["-lineinfo", "-std=c++17", f"-I{wb.ROOT / 'language-model'}"]
    image = compiler.compile(wb.source(file, **macros), options=options, arch="sm_90a", no_extern_c=True)
    return cuda.module_from_buffer(image)


def parts_of(tiles: int, steps: int, processors: int) -> int:
    """Into how many parts of K a product is cut: as few as keep most processors busy, and none is empty."""
    if tiles >= 2 * processors:
        return 1
    most = max(1, min(8, steps // 2))
    best = min(range(1, most + 1), key=lambda p: -(-tiles * p // processors) / p * (1 + 0.01 * p))
    return -(-steps // -(-steps // best))


@dataclass(frozen=True)
class Matrix:
    """A bf16 matrix on the device. In heads it lies as `columns` / 64 planes of a token's 64 channels each."""

    address: int
    rows: int
    columns: int
    in_heads: bool = False

    @property
    def map(self) -> np.ndarray:
        if self.in_heads:
            return box_map(self.address, self.rows * self.columns // HEAD, HEAD)
        return box_map(self.address, self.rows, self.columns)


class Kernels:
    """All kernels of a model of this width, by name, with their launches."""

    def __init__(self, config: Config) -> None:
        c = self.config = config
        self.processors = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        self.launches = 0
        self.heads = np.array([c.heads, c.context, c.batch], np.int32)
        self.threads = 640 if c.padded > 8192 else 64  # of a row of logits
        layers = {"WIDTH": c.width, "THREADS": self.threads}
        self.modules = {
            "forward": module("language-model/gpt2_gemm.cu", DOWN_A=0, DOWN_B=0, STAGES=STAGES),
            "input": module("language-model/gpt2_gemm.cu", DOWN_A=0, DOWN_B=1, STAGES=STAGES),
            "weight": module("language-model/gpt2_gemm.cu", DOWN_A=1, DOWN_B=1, STAGES=STAGES),
            "layers": module("language-model/gpt2.cu", **layers),
            "attention": module("language-model/gpt2_attention.cu", HEAD=HEAD, WARPS=4),
            "step": module("language-model/gpt2_step.cu", PARTS=PARTS),
        }
        self.functions: dict[tuple[str, str], Any] = {}
        self.watched: list[tuple[str, cuda.Event, cuda.Event]] | None = None  # a list: with each launch's name and time
        self.tables: dict[str, dict[Matrix, int]] = {}

    def launch(self, of: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: object,
               shared: int = 0) -> None:  # fmt: skip
        """Integers become 32 bits wide, floats too; np.int64 stays."""
        if (of, name) not in self.functions:
            function = self.functions[of, name] = self.modules[of].get_function(name)
            if shared > 48 * 1024:
                function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        exact = [np.int32(a) if type(a) is int else np.float32(a) if type(a) is float else a for a in arguments]
        if self.watched is not None:
            self.watched.append((name, cuda.Event().record(), cuda.Event()))
        self.functions[of, name](*exact, grid=grid, block=block, shared=shared)
        if self.watched is not None:
            self.watched[-1][2].record()
        self.launches += 1

    def number(self, of: str, matrix: Matrix) -> int:
        """Of the matrix's map in the constant memory of a module, to which it is copied once."""
        known = self.tables.setdefault(of, {})
        if matrix not in known:
            address, room = self.modules[of].get_global("table")
            if len(known) == room // 128:
                raise ValueError(f"{of}: more than {len(known)} matrices; gpt2_gemm.cu's table has no room for them")
            known[matrix] = len(known)
            cuda.memcpy_htod(int(address) + 128 * known[matrix], matrix.map)
        return known[matrix]

    # --8<-- [start:gemm]
    def gemm(self, of: str, name: str, a: Matrix, b: Matrix, out: Matrix | None = None, bias: Any = None,
             other: Matrix | None = None, sums: Any = None, parts: int = 1, code: str = "") -> None:  # fmt: skip
        """A product in one of the three layouts: what M, N and K are follows from the matrices.

        Into `out`, or in fp32 into `sums`, a part of K behind the other. `other` has the shape of `out`. `code` is the
        module that has the kernel, if it is not the layout's own.
        """
        m, k = (a.columns, a.rows) if of == "weight" else (a.rows, a.columns)
        n = b.rows if of == "forward" else b.columns
        blocks = min(self.processors, -(-m // ROWS) * -(-n // COLUMNS) * parts)
        lies = A_HEADS * a.in_heads + B_HEADS * b.in_heads + C_HEADS * (out is not None and out.in_heads)
        matrices = [0 if one is None else self.number(code or of, one) for one in (a, b, out, other)]
        pointers = [np.uintp(0) if one is None else one for one in (bias, sums)]
        shared = (STAGES * (ROWS + COLUMNS) + ROWS * COLUMNS // 64) * 128
        self.launch(code or of, name, (blocks, 1), (384, 1, 1), *matrices, *pointers, m, n, k, parts, lies, self.heads,
                    shared=shared)  # fmt: skip

    # --8<-- [end:gemm]

    def parts(self, m: int, n: int, k: int) -> int:
        return parts_of(-(-m // ROWS) * -(-n // COLUMNS), k // 64, self.processors)


class Network(Kernels):
    """Parameters p on the device with their gradients and moments, and room for a batch."""

    def __init__(self, p: Arrays, config: Config) -> None:
        super().__init__(config)
        self.places, self.count = {}, 0
        for name, shape in config.shapes.items():
            self.places[name], self.count = self.count, self.count + int(np.prod(shape))
        self.decaying = self.places["gain_a0"]
        rows, d, v, real, bits, word = config.rows, config.width, config.padded, np.float32, np.uint16, np.int32
        self.lines = max(1, min(rows // 32, 2 * self.processors))  # blocks of norm_backward
        self.chunks = max(1, min(rows // 64, 32))
        work = max(m * n * self.parts(m, n, rows) for m, n in config.products)
        self.kinds: dict[str, tuple[int, Any]] = dict.fromkeys(("weights", "grad", "m", "v"), (self.count, real))
        self.kinds |= {"copy": (self.count, bits), "parts": (work, real), "squares": (PARTS, real)}
        self.kinds |= {"partial": (max(2 * self.lines * d, self.chunks * 4 * d), real), "loss": (rows, real)}
        self.kinds |= {"batch": (rows, word), "target": (rows, word), "order": (rows, word), "begin": (v + 1, word)}
        self.kinds |= {"logits": (rows * v, bits), "dact": (4 * rows * d, bits), "dqkv": (3 * rows * d, bits)}
        self.kinds |= dict.fromkeys(("x", "n", "dx", "dn", "dout"), (rows * d, bits))
        self.kinds |= {"mean": (rows, real), "scale": (rows, real), "delta": (rows * config.heads, real)}
        for k in range(config.layers):
            self.kinds |= {f"{name}{k}": (rows * d, bits) for name in ("x", "n_a", "out", "middle", "n_m")}
            self.kinds |= {f"{name}{k}": (4 * rows * d, bits) for name in ("before", "act")}
            self.kinds |= {f"{name}{k}": (rows, real) for name in ("mean_a", "scale_a", "mean_m", "scale_m")}
            self.kinds |= {f"qkv{k}": (3 * rows * d, bits), f"lse{k}": (rows * config.heads, real)}
        self.at = {name: cuda.mem_alloc(self.bytes_of(name)) for name in self.kinds}
        self.restart(p)

    def restart(self, p: Arrays) -> None:
        """From these parameters, before the first step."""
        flat = np.concatenate([p[name].ravel() for name in self.config.shapes])
        self.steps = 0
        self.write("weights", flat)
        self.write("copy", to_bf16(flat))
        for name in ("m", "v"):
            self.write(name, np.zeros(self.count))

    # --- Arrays on the device ---

    def bytes_of(self, name: str) -> int:
        count, kind = self.kinds[name]
        return count * np.dtype(kind).itemsize

    def write(self, name: str, values: np.ndarray) -> None:
        cuda.memcpy_htod(self.at[name], np.ascontiguousarray(values, self.kinds[name][1]))

    def read(self, name: str) -> np.ndarray:
        """Numbers, also of bf16."""
        got = np.empty(*self.kinds[name])
        cuda.memcpy_dtoh(got, self.at[name])
        return from_bf16(got) if got.dtype == np.uint16 else got

    def named(self, of: str) -> Arrays:
        """Parameters, their copies, gradients or moments by name."""
        flat = self.read(of)
        return {n: flat[self.places[n] :][: int(np.prod(s))].reshape(s) for n, s in self.config.shapes.items()}

    def poison(self) -> None:
        """NaN into all that a step should write."""
        for name in self.kinds.keys() - {"weights", "copy", "m", "v"}:
            cuda.memset_d8(self.at[name], 0xFF, self.bytes_of(name))

    def tensor(self, name: str, columns: int, in_heads: bool = False) -> Matrix:
        return Matrix(int(self.at[name]), self.config.rows, columns, in_heads)

    def weight(self, name: str) -> Matrix:
        return Matrix(int(self.at["copy"]) + 2 * self.places[name], *self.config.shapes[name])

    def copy(self, name: str) -> np.uintp:
        return np.uintp(int(self.at["copy"]) + 2 * self.places[name])

    def grad(self, name: str) -> np.uintp:
        return np.uintp(int(self.at["grad"]) + 4 * self.places[name])

    # --- Layers ---

    # --8<-- [start:layers]
    def linear(self, kind: str, x: Matrix, name: str, out: Matrix, other: Matrix | None = None) -> None:
        self.gemm("forward", kind, x, self.weight(name), out, self.copy(f"bias_{name}"), other)

    def linear_backward(self, dy: Matrix, x: Matrix, name: str, dx: Matrix, before: Matrix | None = None) -> None:
        """Gradients of the bias, of the weight, and of x; through GELU if `before` is what went into it."""
        self.bias_backward(dy, f"bias_{name}")
        self.weight_backward(dy, x, name)
        kind = "input_backward" if before is None else "input_backward_gelu"
        self.gemm("input", kind, dy, self.weight(name), dx, other=before)

    def weight_backward(self, dy: Matrix, x: Matrix, name: str) -> None:
        """Parts of the sum over the tokens, then their sum, where tiles alone would leave processors idle."""
        (m, n), parts = self.config.shapes[name], self.parts(*self.config.shapes[name], self.config.rows)
        sums = self.grad(name) if parts == 1 else self.at["parts"]
        self.gemm("weight", "weight_backward", dy, x, sums=sums, parts=parts)
        if parts > 1:
            count = m * n
            grid = (-(-count // 1024), 1)
            self.launch("layers", "add_parts", grid, (256, 1, 1), sums, self.grad(name), parts, count)

    def bias_backward(self, dy: Matrix, name: str) -> None:
        n, partial = dy.columns, self.at["partial"]
        arguments = np.uintp(dy.address), partial, self.config.rows, n, int(dy.in_heads), self.heads
        self.launch("layers", "column_sums", (n // 64, self.chunks), (32, 8, 1), *arguments)
        grid = (-(-n // 32), 1)
        self.launch("layers", "add_lines", grid, (32, 32, 1), partial, self.grad(name), self.chunks, n)

    def norm(self, x: str, name: str, y: str, kept: str) -> None:
        arguments = self.at[x], self.copy(f"gain{name}"), self.copy(f"bias{name}"), self.at[y]
        rows, moments = self.config.rows, (self.at[f"mean{kept}"], self.at[f"scale{kept}"])
        self.launch("layers", "norm_forward", (rows // 8, 1), (32, 8, 1), *arguments, *moments, rows)

    def norm_backward(self, x: str, name: str, kept: str, more: bool = True) -> None:
        """From dn to dx; gain and bias are neighbours, and so are their gradients."""
        partial, d = self.at["partial"], self.config.width
        moments = self.at[f"mean{kept}"], self.at[f"scale{kept}"]
        arguments = self.at["dn"], self.at[x], self.copy(f"gain{name}"), *moments, self.at["dx"], partial
        self.launch("layers", "norm_backward", (self.lines, 1), (32, 8, 1), *arguments, self.config.rows, int(more))
        both = (-(-d // 32), 2)
        self.launch("layers", "add_lines", both, (32, 32, 1), partial, self.grad(f"gain{name}"), self.lines, d)

    # --8<-- [end:layers]

    # --8<-- [start:attention]
    def parts_of_heads(self, name: str) -> tuple[np.uintp, ...]:
        """Queries, keys and values lie behind each other."""
        each = 2 * self.config.rows * self.config.width
        return tuple(np.uintp(int(self.at[name]) + i * each) for i in range(3))

    def attention(self, k: int) -> None:
        c, scale = self.config, LOG2E / HEAD**0.5
        grid = (-(-c.context // 128), c.batch * c.heads)
        arguments = *self.parts_of_heads(f"qkv{k}"), self.at[f"out{k}"], self.at[f"lse{k}"], c.context, scale, 1
        self.launch("attention", "attention_mma", grid, (128, 1, 1), *arguments, shared=80 * 1024)

    def attention_backward(self, k: int) -> None:
        c, scale = self.config, 1 / HEAD**0.5
        lines, delta, dq_dk_dv = c.rows * c.heads, self.at["delta"], self.parts_of_heads("dqkv")
        block, grid = (128, 1, 1), (-(-c.context // 64), c.batch * c.heads)
        out, up = self.at[f"out{k}"], self.at["dout"]
        self.launch("layers", "attention_delta", (-(-lines // 32), 1), (256, 1, 1), out, up, delta, lines)
        given = *self.parts_of_heads(f"qkv{k}"), up, self.at[f"lse{k}"], delta
        shared = 2 * (2 * 64 * 2 * HEAD + 2 * 64 * 4)
        rest = c.context, scale, 1
        self.launch("attention", "backward_mma_dq", grid, block, *given, dq_dk_dv[0], *rest, shared=shared)
        self.launch("attention", "backward_mma_dkv", grid, block, *given, *dq_dk_dv[1:], *rest, shared=shared)

    # --8<-- [end:attention]

    def give(self, tokens: np.ndarray, target: np.ndarray) -> None:
        """A batch; and where each token stands, for the embedding's gradient."""
        flat = tokens.ravel()
        self.write("batch", flat)
        self.write("target", target.ravel())
        self.write("order", np.argsort(flat, kind="stable"))
        self.write("begin", np.r_[0, np.bincount(flat, minlength=self.config.padded).cumsum()])

    # --8<-- [start:forward]
    def forward(self) -> None:
        c, rows, d = self.config, self.config.rows, self.config.width
        stream = [*(f"x{k}" for k in range(c.layers)), "x"]
        tables = self.copy("tokens"), self.copy("positions"), self.at["batch"], self.at[stream[0]]
        self.launch("layers", "embed", (rows // 8, 1), (32, 8, 1), *tables, rows, c.context)
        for k in range(c.layers):
            before, middle, after = (self.tensor(name, d) for name in (stream[k], f"middle{k}", stream[k + 1]))
            act = self.tensor(f"act{k}", 4 * d)
            self.norm(f"x{k}", f"_a{k}", f"n_a{k}", f"_a{k}")
            self.linear("linear", self.tensor(f"n_a{k}", d), f"qkv{k}", self.tensor(f"qkv{k}", 3 * d, True))
            self.attention(k)
            self.linear("linear_residual", self.tensor(f"out{k}", d, True), f"join{k}", middle, before)
            self.norm(f"middle{k}", f"_m{k}", f"n_m{k}", f"_m{k}")
            self.linear("linear_gelu", self.tensor(f"n_m{k}", d), f"up{k}", act, self.tensor(f"before{k}", 4 * d))
            self.linear("linear_residual", act, f"down{k}", after, middle)
        self.norm("x", "", "n", "")
        logits = self.tensor("logits", c.padded)
        self.gemm("forward", "logits", self.tensor("n", d), self.weight("tokens"), logits)

    # --8<-- [end:forward]

    # --8<-- [start:backward]
    def backward(self) -> None:
        c, rows, d = self.config, self.config.rows, self.config.width
        arguments = self.at["logits"], self.at["target"], self.at["loss"], c.vocabulary, c.padded, 1 / rows
        block, shared = (self.threads, 1, 1), 2 * c.padded
        self.launch("layers", "classify_backward", (rows, 1), block, *arguments, shared=shared)
        dlogits, dx, dn = self.tensor("logits", c.padded), self.tensor("dx", d), self.tensor("dn", d)
        dact, dqkv, dout = self.tensor("dact", 4 * d), self.tensor("dqkv", 3 * d, True), self.tensor("dout", d, True)
        self.weight_backward(dlogits, self.tensor("n", d), "tokens")
        self.gemm("input", "input_backward", dlogits, self.weight("tokens"), dn)
        self.norm_backward("x", "", "", more=False)
        for k in reversed(range(c.layers)):
            before = self.tensor(f"before{k}", 4 * d)
            self.linear_backward(dx, self.tensor(f"act{k}", 4 * d), f"down{k}", dact, before)
            self.linear_backward(dact, self.tensor(f"n_m{k}", d), f"up{k}", dn)
            self.norm_backward(f"middle{k}", f"_m{k}", f"_m{k}")
            self.linear_backward(dx, self.tensor(f"out{k}", d, True), f"join{k}", dout)
            self.attention_backward(k)
            self.linear_backward(dqkv, self.tensor(f"n_a{k}", d), f"qkv{k}", dn)
            self.norm_backward(f"x{k}", f"_a{k}", f"_a{k}")
        arguments = self.at["dx"], self.at["order"], self.at["begin"], self.grad("tokens")
        self.launch("layers", "embed_backward", (c.padded, 1), (128, 1, 1), *arguments)
        arguments = self.at["dx"], self.grad("positions"), c.batch, c.context
        self.launch("layers", "position_backward", (c.context, 1), (128, 1, 1), *arguments)

    # --8<-- [end:backward]

    # --8<-- [start:learn]
    def learn(self, rate: float) -> None:
        """Clip the gradient's length to CLIP and take a step of AdamW. No host waits for the length."""
        self.steps += 1
        t, n = self.steps, np.int64(self.count)
        step = [1 - rate * DECAY, BETA, 1 - BETA, BETA2, 1 - BETA2]
        step += [rate / (1 - BETA**t), (1 - BETA2**t) ** -0.5, TINY]
        self.launch("step", "squares", (PARTS, 1), (256, 1, 1), self.at["grad"], self.at["squares"], n)
        arrays = [self.at[name] for name in ("weights", "copy", "grad", "m", "v")]
        rest = np.array(step, np.float32), self.at["squares"], CLIP, np.int64(self.decaying), n
        self.launch("step", "adamw_bf16", (-(-self.count // 1024), 1), (256, 1, 1), *arrays, *rest)

    # --8<-- [end:learn]

    def step(self, rate: float) -> None:
        """With the batch that was given last."""
        self.forward()
        self.backward()
        self.learn(rate)

    def loss(self) -> float:
        """Nats per token of the last batch."""
        return float(self.read("loss").mean(dtype=np.float64))
