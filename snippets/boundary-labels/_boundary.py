"""Label maps on the device, and five ways to their boundaries."""

from typing import Any

import _reference as ref
import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _bytes import BYTES, CLASSES, WAYS

ROWS = 8  # that a thread of v0, v3 and v4 walks down
EVERY, KNOWN = 0xFFFFFFFF, (1 << CLASSES) - 1  # sets that count as different: void and the frame, too; classes alone


class Maps:
    """`labels` (image, row, column) on the device, with room for what `ways` write."""

    def __init__(self, labels: np.ndarray, ways: tuple[str, ...] = tuple(WAYS), copies: int = 1) -> None:
        self.labels, (self.images, self.h, self.w) = labels, labels.shape
        self.words = -(-self.w // 32)
        self.module = wb.module("boundary-labels/boundary.cu", CLASSES=CLASSES)
        self.inputs = [cuda.to_device(np.ascontiguousarray(labels)) for _ in range(copies)]
        self.at: dict[str, Any] = {"labels": self.inputs[0]}
        names = {name for way in ways for _, _, name in WAYS[way]}
        for name in sorted(names):
            self.at[name] = cuda.mem_alloc(self.bytes_of(name))
        self.counted = EVERY
        self.functions = {kernel: self.module.get_function(kernel) for way in ways for kernel, _, _ in WAYS[way]}

    def bytes_of(self, name: str) -> int:
        if name == "bits":
            return 4 * self.images * self.h * self.words
        return int(BYTES[name] * self.labels.size)

    def poison(self, way: str) -> None:
        for _, _, name in WAYS[way]:
            cuda.memset_d32_async(self.at[name], 0xFFC00001, self.bytes_of(name) // 4)

    # --8<-- [start:launch]
    def launch(self, way: str, turn: int = 0) -> None:
        self.at["labels"] = self.inputs[turn % len(self.inputs)]
        for kernel, reads, writes in WAYS[way]:
            arrays = self.at[reads], self.at[writes]
            if kernel == "one_hot":
                pixels = self.h * self.w
                shape = {"grid": (-(-pixels // 256), self.images), "block": (256, 1, 1)}
                self.functions[kernel](*arrays, np.int32(pixels), **shape)
                continue
            columns, rows = {
                "convolve": (32, 8 * ROWS),
                "class_sets_by_four": (128, 4 * ROWS),
                "edge_bits": (128, 4 * ROWS),
            }.get(kernel, (32, 8))
            block = (32, rows // ROWS if rows > 8 else rows, 1)
            layers = self.images * (CLASSES if kernel == "convolve" else 1)
            grid = (-(-self.w // columns), -(-self.h // rows), layers)
            more = [np.uint32(self.counted)] if kernel == "edge_bits" else []
            self.functions[kernel](*arrays, np.int32(self.h), np.int32(self.w), *more, grid=grid, block=block)

    # --8<-- [end:launch]

    def read(self, way: str, images: slice) -> np.ndarray:
        """What a way left for these images; of planes, the class comes first."""
        name = WAYS[way][-1][2]
        count = len(range(self.images)[images])
        kind, shape = {
            "edges": (np.float32, (count, CLASSES, self.h, self.w)),
            "sets": (np.uint32, (count, self.h, self.w)),
            "bits": (np.uint32, (count, self.h, self.words)),
        }[name]
        got = np.empty(shape, kind)
        cuda.memcpy_dtoh(got, int(self.at[name]) + (images.start or 0) * (got.nbytes // count))
        return got.swapaxes(0, 1) if name == "edges" else got

    def check(self, way: str, images: slice = slice(None)) -> None:
        """Every pixel of these images."""
        labels, got = self.labels[images], self.read(way, images)
        where = f"{way}, {len(labels)} maps of {self.h} x {self.w}"
        if way in ("v0", "v1"):
            wb.check(got, ref.naive(labels, CLASSES).astype(np.float32), 0, where)
        elif way == "v4":
            edges = (ref.naive if self.counted == EVERY else ref.clean)(labels, CLASSES).any(0)
            wb.check(got, ref.packed(edges), 0, where)
        else:
            wb.check(got, ref.sets(labels, CLASSES), 0, where)

    def run(self, way: str) -> None:
        self.poison(way)
        self.launch(way)
        self.check(way)
