"""Cases of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col: the 128 bytes, or the error, for many arguments.

Neither needs a kernel.  The result of a call is its error code (4 bytes) and the 128 bytes.
"""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from conformance.inputs import random_bits

from hopper.driver import library

TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
SIZES = dict(zip(TYPES, (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4), strict=True))
FLOATING = ("f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
SWIZZLE_BYTES = (0, 32, 64, 128)
ADDRESS = 0x7F0123456000


@dataclass(frozen=True)
class TensorMap:
    """The arguments of one call; all lists begin with the innermost dimension, strides in bytes.

    lower, upper, channels, pixels: of im2col, in place of the box.  offset: of the tensor in its buffer.
    """

    kind: int  # index into TYPES
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    lower: tuple[int, ...] | None = None
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    offset: int = 0
    rank: int = 0

    @property
    def im2col(self) -> bool:
        return self.lower is not None

    @property
    def element(self) -> int:
        return SIZES[TYPES[self.kind]]

    def encode(self, address: int, misalign: int = 0, leave: bytes = bytes(128)) -> tuple[int, np.ndarray]:
        """The error code and the 128 bytes; `misalign` moves the result off its 64-byte boundary."""
        buffer = np.zeros(128 + 64 + 64, np.uint8)
        start = -buffer.ctypes.data % 64 + misalign
        buffer[start : start + 128] = np.frombuffer(leave, np.uint8)
        place = ctypes.c_void_p(buffer.ctypes.data + start)

        def array(kind: Any, values: tuple[int, ...], least: int = 8) -> Any:
            filled = list(values) + [1] * (least - len(values))  # a rank that is too large reads on
            return (kind * len(filled))(*filled)

        rank = self.rank or len(self.dims)
        common = (
            ctypes.c_int(self.kind),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address + self.offset),
            array(ctypes.c_uint64, self.dims),
            array(ctypes.c_uint64, self.strides),
        )
        steps = array(ctypes.c_uint32, self.steps or (1,) * len(self.dims))
        modes = [ctypes.c_int(x) for x in (self.interleave, self.swizzle, self.promotion, self.fill)]
        if self.im2col:
            corners = array(ctypes.c_int, self.lower or ()), array(ctypes.c_int, self.upper)
            counts = ctypes.c_uint32(self.channels), ctypes.c_uint32(self.pixels)
            code = library().cuTensorMapEncodeIm2col(place, *common, *corners, *counts, steps, *modes)
        else:
            code = library().cuTensorMapEncodeTiled(place, *common, array(ctypes.c_uint32, self.box), steps, *modes)
        return code, buffer[start : start + 128].copy()


@dataclass(frozen=True)
class Call:
    """One call."""

    name: str
    map: TensorMap
    address: int = ADDRESS
    misalign: int = 0
    replaced: int | None = None  # then cuTensorMapReplaceAddress with this one

    def result(self) -> bytes:
        leave = bytes([0xCD]) * 128
        code, made = self.map.encode(self.address, self.misalign, leave)
        if self.replaced is not None and not code:
            held = np.zeros(256, np.uint8)
            start = -held.ctypes.data % 64
            held[start : start + 128] = made
            place = ctypes.c_void_p(held.ctypes.data + start)
            code = library().cuTensorMapReplaceAddress(place, ctypes.c_void_p(self.replaced))
            made = held[start : start + 128]
        return code.to_bytes(4, "little") + made.tobytes()


BASES = {
    "1d": TensorMap(0, (1024,), (), (256,)),
    "2d": TensorMap(6, (1000, 300), (2048,), (64, 32)),
    "3d": TensorMap(7, (64, 50, 40), (256, 256 * 50), (32, 4, 2)),
    "4d": TensorMap(9, (64, 30, 20, 10), (128, 3840, 76800), (32, 3, 2, 5)),
    "5d": TensorMap(3, (16, 9, 8, 7, 6), (64, 576, 4608, 32256), (8, 2, 3, 4, 5)),
    "interleaved": TensorMap(6, (64, 30, 20, 10), (16, 480, 9600), (8, 4, 4, 1), interleave=1),
    "interleaved 32": TensorMap(6, (64, 32, 20, 10), (32, 1024, 20480), (16, 4, 4, 1), interleave=2, swizzle=1),
    "im2col 3d": TensorMap(6, (64, 30, 10), (128, 3840), lower=(-1,), upper=(-2,), channels=32, pixels=16),
    "im2col 4d": TensorMap(
        7, (64, 30, 20, 10), (256, 7680, 153600), lower=(-1, -2), upper=(-3, 1), channels=16, pixels=64
    ),
    "im2col 5d": TensorMap(
        0, (64, 30, 20, 10, 5), (64, 1920, 38400, 384000), lower=(-1, -2, -3), upper=(-4, 5, 6), channels=48, pixels=33
    ),
}  # fmt: skip
EDGES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255, 256, 257, 511, 512, 513,
         1023, 1024, 1025, 65535, 65536, 2**31, 2**32 - 1)  # fmt: skip


def changed(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def variations(base: TensorMap) -> Iterator[tuple[str, TensorMap]]:
    """One argument at a time."""
    rank = len(base.dims)
    for kind in (*range(17), 100, -1):
        yield f"type {kind}", replace(base, kind=kind)
    for interleave in range(5):
        for swizzle in range(9):
            yield f"interleave {interleave} swizzle {swizzle}", replace(base, interleave=interleave, swizzle=swizzle)
    for promotion in (*range(6), -1):
        yield f"promotion {promotion}", replace(base, promotion=promotion)
    for kind in range(17):
        for fill in (1, 2):
            yield f"type {kind} fill {fill}", replace(base, kind=kind, fill=fill)
    for wrong in (-1, 1, 2, 3, 4, 5, 6, 7):
        if wrong != rank:
            yield f"rank {wrong}", replace(base, rank=wrong if wrong > 0 else 2**32 - 1)
    for i in range(rank):
        for value in (*EDGES, 2**32, 2**32 + 1, 2**40, 2**63, 2**64 - 1):
            yield f"dims[{i}] {value}", replace(base, dims=changed(base.dims, i, value))
        for value in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 255, 2**32 - 1):
            steps = changed((1,) * rank, i, value)
            yield f"steps[{i}] {value}", replace(base, steps=steps)
        if not base.im2col:
            for value in (*EDGES, 2**32 - 1):
                yield f"box[{i}] {value}", replace(base, box=changed(base.box, i, value))
        if i < rank - 1:
            near = base.strides[i]
            more = [near + d for d in (-32, -16, -8, -1, 1, 4, 8, 16, 32)]
            more += [0, 1, 8, 16, 32, 48, 2**20, 2**32, 2**35, 2**36, 2**36 - 16, 2**39, 2**40 - 32, 2**40 - 16, 2**40,
                     2**40 + 16, 2**41, 2**63, 2**64 - 16]  # fmt: skip
            for value in more:
                yield f"strides[{i}] {value}", replace(base, strides=changed(base.strides, i, value))
    if base.im2col and base.lower is not None:
        limits = (-(2**31), -65536, -32769, -32768, -32767, -257, -256, -129, -128, -127, -17, -16, -15, -2, -1)
        for i in range(rank - 2):
            for value in (*limits, *(-1 - x for x in limits), 16, 128):
                yield f"lower[{i}] {value}", replace(base, lower=changed(base.lower, i, value))
                yield f"upper[{i}] {value}", replace(base, upper=changed(base.upper, i, value))
        for value in EDGES:
            yield f"channels {value}", replace(base, channels=value)
            yield f"pixels {value}", replace(base, pixels=value)


def random_map(seed: str) -> TensorMap:
    """Legal arguments, of all kinds."""
    raw = iter([int(x) for x in random_bits(f"map {seed}", 80)])

    def pick(*options: int) -> int:
        return options[next(raw) % len(options)]

    kind = next(raw) % 13
    size = SIZES[TYPES[kind]]
    im2col = next(raw) % 3 == 0
    rank = pick(3, 4, 5) if im2col else pick(1, 2, 3, 4, 5)
    dims = tuple(1 + (next(raw) % pick(40, 1000, 100000)) for _ in range(rank))
    strides, least = [], dims[0] * size
    for i in range(rank - 1):
        stride = -(-least // 16) * 16 + 16 * (next(raw) % 5)
        strides.append(stride)
        least = stride * dims[i + 1]
    swizzle = pick(0, 1, 2, 3)
    inner = 16 * (1 + next(raw) % (max(1, SWIZZLE_BYTES[swizzle] // 16) if swizzle else 8)) // size
    steps = tuple(1 + next(raw) % 8 if next(raw) % 4 == 0 else 1 for _ in range(rank))
    fill = next(raw) % 2 if TYPES[kind] in FLOATING else 0
    common = {"swizzle": swizzle, "promotion": pick(0, 1, 2, 3), "fill": fill, "steps": steps}
    if im2col:
        reach = {3: 32768, 4: 128, 5: 16}[rank]
        lower = tuple(next(raw) % (2 * reach) - reach for _ in range(rank - 2))
        upper = tuple(next(raw) % (2 * reach) - reach for _ in range(rank - 2))
        return TensorMap(
            kind, dims, tuple(strides), lower=lower, upper=upper, channels=inner, pixels=1 + next(raw) % 1024, **common
        )  # type: ignore[arg-type]
    box = (inner, *(1 + next(raw) % 256 for _ in range(rank - 1)))
    return TensorMap(kind, dims, tuple(strides), box, **common)  # type: ignore[arg-type]


ADDRESSES = (0, 1, 8, 15, 16, 24, 32, 48, 64, 128, 2**32, 2**32 - 16, 2**40, 2**47 - 16, 2**47, 2**48, 2**49 - 16,
             2**52, 2**56, 2**57 - 16, 2**57, 2**63, 2**64 - 16, 2**64 - 32)  # fmt: skip


@dataclass(frozen=True)
class Calls:
    """A case of the archive of maps: many calls, their results one behind the other, each RESULT bytes."""

    name: str
    calls: tuple[Call, ...]
    keep: bool = True

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.calls).encode()).hexdigest()[:12]

    def run(self) -> bytes:
        return b"".join(results_of(self.calls))


CRASHED, NOT_CALLED = 0xFFFFFFFF, 0xFFFFFFFE  # in place of an error code
crashing: set[str] = set()


def answer_calls(pipe: Any, calls: tuple[Call, ...]) -> None:
    """In a process of its own."""
    library().cuInit(0)
    if Call("", BASES["2d"]).result()[:4] != bytes(4):  # a driver that wants a context
        context = ctypes.c_void_p()
        library().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        library().cuCtxSetCurrent(context)
    for call in calls:
        pipe.send_bytes(call.result())
    pipe.close()


def results_of(calls: tuple[Call, ...]) -> list[bytes]:
    """The driver crashes on some wrong arguments: such a call is CRASHED, and later ones of its name are not made."""
    context = multiprocessing.get_context("fork")  # of a process that has not used the driver
    results: dict[str, bytes] = {}
    while len(results) < len(calls):
        for call in calls:
            if call.name in crashing and call.name not in results:
                results[call.name] = NOT_CALLED.to_bytes(4, "little") + bytes(128)
        waiting = tuple(call for call in calls if call.name not in results)
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=answer_calls, args=(theirs, waiting))
        worker.start()
        theirs.close()
        for call in waiting:
            try:
                results[call.name] = mine.recv_bytes()
            except EOFError:
                results[call.name] = CRASHED.to_bytes(4, "little") + bytes(128)
                crashing.add(call.name)
                break
        worker.join()
    return [results[call.name] for call in calls]


RESULT = 132


def map_cases() -> list[Calls]:
    cases = []
    for name, base in BASES.items():
        calls = {what: Call(what, made) for what, made in [("base", base), *variations(base)]}
        for address in ADDRESSES:
            calls[f"address {address:#x}"] = Call(f"address {address:#x}", base, address)
            calls[f"replaced by {address:#x}"] = Call(f"replaced by {address:#x}", base, replaced=address)
        calls |= {f"map off by {off}": Call(f"map off by {off}", base, misalign=off) for off in (8, 16, 32)}
        cases.append(Calls(f"map {name}", tuple(calls.values())))
    legal = [
        Call(f"random {i}", random_map(str(i)), int(random_bits(f"address {i}", 1)[0]) % 2**47 & -16)
        for i in range(600)
    ]
    return [*cases, Calls("map random", tuple(legal))]
