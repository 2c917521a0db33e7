"""A decoder of GPT-2's form with random weights: in float64 over a whole text, and on the device with a cache."""

from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _decode import LOG2E, THREADS, Ready
from _shapes import Config

CHUNK = 64  # keys per part: fixed, so that a query's sums do not depend on how long other sequences are
OUTPUTS = np.dtype(
    [(name, np.uint64) for name in ("wide", "half", "keys", "values", "tables", "sequence", "position")]
    + [(name, np.int32) for name in ("heads", "kv_heads", "most", "page")],
    align=True,
)
built: dict[tuple, Any] = {}


def draw_weights(config: Config, seed: int) -> dict[str, Any]:
    """fp16 matrices as nn.Linear stores them, fp32 vectors. Not small: attention must matter for what is predicted."""
    rng = np.random.default_rng(seed)
    width = config.width

    def matrix(rows: int, columns: int, size: float = 1.0) -> np.ndarray:
        numbers = rng.standard_normal((rows, columns), dtype=np.float32)
        return (numbers * np.float32(size / columns**0.5)).astype(np.float16)

    def vector(n: int, mean: float = 0.0) -> np.ndarray:
        return mean + 0.1 * rng.standard_normal(n, dtype=np.float32)

    found: dict[str, Any] = {
        "tokens": matrix(config.vocabulary, width, width**0.5 / 4),
        "places": matrix(config.context, width, width**0.5 / 4),
        "gamma": vector(width, 1), "beta": vector(width), "layers": [],
    }  # fmt: skip
    qkv = width + 2 * config.kv_heads * config.d
    for _ in range(config.layers):
        found["layers"].append({
            "gamma1": vector(width, 1), "beta1": vector(width), "gamma2": vector(width, 1), "beta2": vector(width),
            "qkv": matrix(qkv, width, 1.5), "qkv_bias": vector(qkv), "out": matrix(width, width),
            "out_bias": vector(width), "up": matrix(4 * width, width), "up_bias": vector(4 * width),
            "down": matrix(width, 4 * width), "down_bias": vector(width),
        })  # fmt: skip
    return found


# --8<-- [start:reference]
def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gamma + beta


def logits_of(config: Config, weights: dict[str, Any], text: np.ndarray) -> np.ndarray:
    """After the last token of a text, in float64, from the whole text at once: no cache."""
    n, d, shared = len(text), config.d, config.heads // config.kv_heads
    tokens = weights["tokens"].astype(np.float64)
    x = tokens[text] + weights["places"][:n].astype(np.float64)
    for layer in weights["layers"]:
        w = {name: values.astype(np.float64) for name, values in layer.items()}
        y = layer_norm(x, w["gamma1"], w["beta1"]) @ w["qkv"].T + w["qkv_bias"]
        q, k, v = np.split(y, [config.width, config.width + config.kv_heads * d], axis=1)
        heads = []
        for head in range(config.heads):
            mine = slice(head // shared * d, (head // shared + 1) * d)
            scores = q[:, head * d : (head + 1) * d] @ k[:, mine].T * d**-0.5
            scores[np.triu_indices(n, 1)] = -np.inf
            p = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(p / p.sum(1, keepdims=True) @ v[:, mine])
        x = x + np.concatenate(heads, 1) @ w["out"].T + w["out_bias"]
        u = layer_norm(x, w["gamma2"], w["beta2"]) @ w["up"].T + w["up_bias"]
        u = 0.5 * u * (1 + np.tanh((2 / np.pi) ** 0.5 * (u + 0.044715 * u**3)))
        x = x + u @ w["down"].T + w["down_bias"]
    return layer_norm(x[-1:], weights["gamma"], weights["beta"]) @ tokens.T


# --8<-- [end:reference]


def compiled(path: str, **macros: int) -> Any:
    key = path, *macros.values()
    if key not in built:
        built[key] = wb.module(path, **macros)
    return built[key]


class Decoder:
    """The weights on the device, a cache for `sequences`, contiguous or in pages, and steps over rows of new tokens."""

    def __init__(self, config: Config, weights: dict[str, Any], sequences: int, page: int = 0,
                 table: np.ndarray | None = None, pool: int = 0) -> None:  # fmt: skip
        self.config, self.page, self.sequences = config, page, sequences
        self.w = {name: cuda.to_device(x) for name, x in weights.items() if name != "layers"}
        self.layers = [{name: cuda.to_device(x) for name, x in layer.items()} for layer in weights["layers"]]
        self.most = table.shape[1] if table is not None else config.context
        slots = pool * page if page else sequences * config.context
        self.cache_bytes = slots * config.token_bytes
        self.cache = [
            [cuda.mem_alloc(2 * slots * config.kv_heads * config.d) for _ in range(2)] for _ in range(config.layers)
        ]
        self.table = cuda.to_device(table) if table is not None else None
        self.room(64)
        self.forget()

    def forget(self) -> None:
        """NaN in every key and value."""
        size = self.cache_bytes // 2 // self.config.layers // 2
        for layer in self.cache:
            for half in layer:
                cuda.memset_d16(half, 0xFFFF, size)

    def room(self, rows: int) -> None:
        """Arrays for so many rows of new tokens."""
        c = self.config
        self.parts = -(-c.context // CHUNK)
        sizes = {
            "x": 4 * c.width, "y": 2 * c.width, "q": 2 * c.width, "a": 2 * c.width, "u": 8 * c.width,
            "logits": 4 * c.vocabulary, "o": 4 * c.width * self.parts, "stats": 8 * c.heads * self.parts,
            "token": 4, "position": 4, "length": 4, "sequence": 4,
        }  # fmt: skip
        self.at = {name: cuda.mem_alloc(size * rows) for name, size in sizes.items()}

    def place(self, tokens: np.ndarray, positions: np.ndarray, sequences: np.ndarray) -> None:
        """The rows of the next step: one new token each, its place, and whose it is."""
        named = {"token": tokens, "position": positions, "sequence": sequences, "length": np.asarray(positions) + 1}
        for name, values in named.items():
            cuda.memcpy_htod(self.at[name], np.ascontiguousarray(values, np.int32))

    # --8<-- [start:launches]
    def launches(self, rows: int, advance: int = 0) -> list[Ready]:
        """All launches of one step over `rows` new tokens, in order."""
        c, a, wide = self.config, self.at, self.config.width
        found: list[Ready] = []
        eights = 1 << (max(0, -(-rows // 8) - 1)).bit_length()  # 1, 2, 4 or 8

        def add(module: Any, name: str, grid: tuple, block: int, *arguments: Any) -> None:
            found.append(Ready(module.get_function(name), grid, (block, 1, 1), *arguments))

        def linear(use: str, w: Any, x: Any, bias: Any, n: int, k: int, **outputs: Any) -> None:
            per_block = 16 * (tiles if use == "logits" else 1)
            to = np.zeros((), OUTPUTS)
            for field, value in outputs.items():
                to[field] = int(value)
            sizes = map(np.int32, (rows, n, k))
            add(code, f"linear_{use}", (-(-n // per_block), 1), 256, w, x, bias, to[()], *sizes)

        tiles = 2 if c.vocabulary > 8192 else 1
        code = compiled("llm-inference/linear.cu", EIGHTS=eights, TILES=tiles, HEAD=c.d)
        attention = compiled("llm-inference/decode.cu", HEAD=c.d, QUERIES=c.heads // c.kv_heads, PAGE=self.page or 16)
        size, norms = np.int32(wide), (-(-rows // 4), 1)
        add(code, "embed", (rows, 1), 256, self.w["tokens"], self.w["places"], a["token"], a["position"], a["x"], size)
        where = {"tables": self.table or 0, "sequence": a["sequence"], "position": a["position"]}
        where |= {"heads": c.heads, "kv_heads": c.kv_heads, "most": self.most, "page": self.page}
        for w, (keys, values) in zip(self.layers, self.cache, strict=True):
            add(code, "normalise", norms, 128, a["x"], w["gamma1"], w["beta1"], a["y"], np.int32(rows), size)
            linear("cache", w["qkv"], a["y"], w["qkv_bias"], wide + 2 * c.kv_heads * c.d, wide, half=a["q"], keys=keys,
                   values=values, **where)  # fmt: skip
            tables = [self.table] if self.page else []
            add(attention, "decode_v4" if self.page else "decode_v3", (c.kv_heads, rows, self.parts), THREADS, a["q"],
                keys, values, *tables, a["sequence"], a["length"], a["o"], a["stats"], np.int32(c.heads),
                np.int32(self.most), np.int32(CHUNK), np.float32(LOG2E * c.d**-0.5))  # fmt: skip
            add(attention, "decode_merge", (c.heads, rows), c.d, a["o"], a["stats"], a["length"], a["a"],
                np.int32(self.parts), np.int32(CHUNK))  # fmt: skip
            linear("residual", w["out"], a["a"], w["out_bias"], wide, wide, wide=a["x"])
            add(code, "normalise", norms, 128, a["x"], w["gamma2"], w["beta2"], a["y"], np.int32(rows), size)
            linear("gelu", w["up"], a["y"], w["up_bias"], 4 * wide, wide, half=a["u"])
            linear("residual", w["down"], a["u"], w["down_bias"], wide, 4 * wide, wide=a["x"])
        add(code, "normalise", norms, 128, a["x"], self.w["gamma"], self.w["beta"], a["y"], np.int32(rows), size)
        linear("logits", self.w["tokens"], a["y"], np.uintp(0), c.vocabulary, wide, wide=a["logits"])
        add(code, "pick", (rows, 1), 1024, a["logits"], a["token"], a["position"], a["length"],
            np.int32(c.vocabulary), np.int32(advance))  # fmt: skip
        return found

    # --8<-- [end:launches]

    def step(self, rows: int) -> np.ndarray:
        """Run one step; the logits of each row."""
        cuda.memset_d32(self.at["logits"], 0xFFFFFFFF, rows * self.config.vocabulary)
        for launch in self.launches(rows):
            launch()
        logits = np.empty((rows, self.config.vocabulary), np.float32)
        cuda.memcpy_dtoh(logits, self.at["logits"])
        return logits

    def chosen(self, rows: int) -> np.ndarray:
        token = np.empty(rows, np.int32)
        cuda.memcpy_dtoh(token, self.at["token"])
        return token

    # --8<-- [start:prefill]
    def prefill(self, text: np.ndarray, sequence: int) -> np.ndarray:
        """A whole prompt, 64 tokens per step: each step writes its keys and values first, then every token attends to
        those up to its own. The logits of all positions."""
        logits = []
        for start in range(0, len(text), 64):
            piece = text[start : start + 64]
            self.place(piece, np.arange(start, start + len(piece)), np.full(len(piece), sequence))
            logits.append(self.step(len(piece)))
        return np.concatenate(logits)

    # --8<-- [end:prefill]
