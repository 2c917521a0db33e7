"""The small kernels of scores.cu and softmax.cu as functions of NumPy arrays."""

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

SIDE = 16  # as in scores.cu
THREADS = 256  # of softmax.cu, for rows of any length


def blocks(columns: int, rows: int) -> dict[str, tuple]:
    return {"block": (SIDE, SIDE, 1), "grid": (-(-columns // SIDE), -(-rows // SIDE))}


class Pieces:
    def __init__(self) -> None:
        self.scores = wb.module("attention/scores.cu")
        self.soft = wb.module("softmax/softmax.cu", THREADS=THREADS, PACKS=4, WIDTH=1)

    def run(self, name: str, shape: tuple[int, int], *inputs: object, numbers: tuple = ()) -> np.ndarray:
        """Launch scores.cu's kernel for each element of a result of this shape, which is NaN before."""
        out = np.full(shape, np.nan, np.float32)
        before = [cuda.In(np.ascontiguousarray(a, np.float32)) for a in inputs]
        self.scores.get_function(name)(*before, cuda.InOut(out), *numbers, **blocks(shape[1], shape[0]))
        return out

    def dot(self, q: np.ndarray, k: np.ndarray, scale: float = 1.0) -> np.ndarray:
        sizes = np.int32(len(q)), np.int32(len(k)), np.int32(q.shape[1]), np.float32(scale)
        return self.run("score_dot", (len(q), len(k)), q, k, numbers=sizes)

    def project(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        sizes = np.int32(len(x)), np.int32(x.shape[1]), np.int32(w.shape[1])
        return self.run("project", (len(x), w.shape[1]), x, w, numbers=sizes)

    def additive(self, a: np.ndarray, b: np.ndarray, v: np.ndarray) -> np.ndarray:
        sizes = np.int32(len(a)), np.int32(len(b)), np.int32(a.shape[1])
        return self.run("score_additive", (len(a), len(b)), a, b, v, numbers=sizes)

    def softmax(self, x: np.ndarray) -> np.ndarray:
        y = np.full_like(x, np.nan)
        kernel = self.soft.get_function("softmax_three")
        sizes = np.int32(len(x)), np.int32(x.shape[1])
        kernel(cuda.In(x), cuda.InOut(y), *sizes, block=(THREADS, 1, 1), grid=(len(x), 1))
        return y

    def attention(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """softmax(q kᵀ / √d) v, and the weights."""
        weights = self.softmax(self.dot(q, k, 1 / np.sqrt(q.shape[1])))
        return self.project(weights, v), weights
