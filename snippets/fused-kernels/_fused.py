"""The kernels of fused.cu, launched with the shapes that suit a row; and what each of them must move."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _reference import EPSILON

BLOCK = 256  # threads of a block, where no row is shared
built: dict[tuple, Any] = {}  # modules, by their shape and the kind of normalisation


# --8<-- [start:shape]
def forward_threads(n: int) -> int:
    return 32 if n <= 1024 else 256 if n <= 2048 else 512 if n <= 16384 else 1024


def backward_threads(n: int) -> int:
    """Eight floats of dy and of x per thread, so that they and two accumulators each fit into 64 registers."""
    return min(1024, max(32, 1 << (-(-n // 8) - 1).bit_length()))


def classifier_threads(n: int) -> int:
    """Eight logits per thread fit into 32 registers; with 1024 threads, only two rows would share a multiprocessor."""
    return min(512 if n <= 16384 else 1024, backward_threads(n))


# --8<-- [end:shape]


@dataclass(frozen=True)
class Rows:
    """The kernels for rows of n floats, `threads` threads per row."""

    n: int
    threads: int

    @property
    def at_once(self) -> int:
        """Rows of a block."""
        return 8 if self.threads == 32 else 1

    def kernel(self, name: str) -> Any:
        kind = "rmsnorm" if name.startswith("rmsnorm") else "layernorm"
        key = self.threads, -(-self.n // (4 * self.threads)), kind
        if key not in built:
            named = {f"norm_{way}": f"{kind}_{way}" for way in ("forward", "backward")}
            resident = cuda.Context.get_device().get_attribute(cuda.device_attribute.MAX_THREADS_PER_MULTIPROCESSOR)
            shape = {"THREADS": key[0], "PACKS": key[1], "RESIDENT": resident}
            macros = {**shape, "CENTRED": str(kind == "layernorm").lower(), **named}
            built[key] = wb.module("fused-kernels/fused.cu", **macros)
        return built[key].get_function(name)

    def launch(self, name: str, *arguments: object, blocks: int) -> None:
        self.kernel(name)(*arguments, block=(self.threads, self.at_once, 1), grid=(blocks, 1))


def forward(n: int) -> Rows:
    return Rows(n, forward_threads(n))


def norm(kind: str, x: Any, gamma: Any, beta: Any, y: Any, mean: Any, scale: Any, rows: int, n: int) -> None:
    shape = forward(n)
    sizes = (np.int32(rows), np.int32(n), np.float32(EPSILON))
    shape.launch(f"{kind}_forward", x, gamma, beta, y, mean, scale, *sizes, blocks=-(-rows // shape.at_once))


# --8<-- [start:stages]
def partial_lines(rows: int, n: int) -> int:
    """Rows of the partial sums: one per row in progress, however many rows there are.

    Where several blocks fit on a multiprocessor, seven in eight of them are faster than all.
    """
    shape = Rows(n, backward_threads(n))
    each = 1024 // (shape.threads * shape.at_once)
    blocks = cuda.Context.get_device().multiprocessor_count * each
    return min(blocks * 7 // 8 if each > 1 else blocks, -(-rows // shape.at_once)) * shape.at_once


def norm_backward(kind: str, dy: Any, x: Any, gamma: Any, mean: Any, scale: Any, dx: Any, partial: Any, out: Any,
                  rows: int, n: int, blocks: int = 0) -> None:  # fmt: skip
    """dx by one kernel; dgamma and dbeta, one after the other in `out`, by that and a second one."""
    shape = Rows(n, backward_threads(n))
    lines = blocks * shape.at_once or partial_lines(rows, n)
    arrays, sizes = (dy, x, gamma, mean, scale, dx, partial), (np.int32(rows), np.int32(n))
    shape.launch(f"{kind}_backward", *arrays, *sizes, blocks=lines // shape.at_once)
    add = shape.kernel("norm_columns")
    grid = (-(-n // 32), 2 if kind == "layernorm" else 1)
    add(partial, out, np.int32(lines), np.int32(n), block=(32, 32, 1), grid=grid)


# --8<-- [end:stages]


def over_packs(name: str, *arrays: Any, count: int, extra: tuple = ()) -> None:
    """A kernel that takes one pack per thread."""
    kernel = forward(4096).kernel(name)
    packs = count // 4
    kernel(*arrays, np.int64(packs), *extra, block=(BLOCK, 1, 1), grid=(-(-packs // BLOCK), 1))


def classify(logits: Any, label: Any, loss: Any, rows: int, n: int, weight: float, smoothing: float = 0,
             kind: str = "classifier") -> None:  # fmt: skip
    shape = Rows(n, classifier_threads(n))
    sizes = np.int32(rows), np.int32(n), np.float32(smoothing), np.float32(weight)
    shape.launch(kind, logits, label, loss, *sizes, blocks=-(-rows // shape.at_once))


# --8<-- [start:step]
RATE, BETA1, BETA2, DECAY, TINY = 1e-3, 0.9, 0.999, 0.1, 1e-8


def adamw(p: Any, g: Any, m: Any, v: Any, count: int, step: int) -> None:
    """Step number `step`, from 1. What is the same for all parameters is computed once, here, in double precision."""
    constants = (1 - BETA1, 1 - BETA2, 1 - RATE * DECAY, RATE / (1 - BETA1**step), 1 / (1 - BETA2**step), TINY)
    over_packs("adamw", p, g, m, v, count=count, extra=tuple(map(np.float32, constants)))


# --8<-- [end:step]


# --8<-- [start:bytes]
MOVED = {  # floats per element that memory has to read and to write
    "layernorm_forward": (1, 1),
    "rmsnorm_forward": (1, 1),
    "layernorm_backward": (2, 1),
    "rmsnorm_backward": (2, 1),
    "gelu_forward": (1, 1),
    "gelu_backward": (2, 1),
    "classifier": (1, 1),
    "adamw": (4, 3),
    "copy": (1, 1),
}
# --8<-- [end:bytes]
