"""Cases of tensor copies and bulk copies: loads, stores, reductions, im2col, multicast.

`copy_cases` and `store_cases` are two archives, as the recorder stopped after 200 faults, most of them of stores that
began before the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np
from conformance.inputs import random_bits

from hopper.cases import Case, copy_in, copy_out, kernel, poison_shared
from hopper.maps import FLOATING, SIZES, SWIZZLE_BYTES, TYPES, TensorMap

TAIL = (
    32  # bytes that the kernel writes behind a block's shared memory; what a barrier holds is the device's own affair
)
SHOWN = 8  # of them are compared: whether the barrier's phase ended, and the bytes expected
OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@dataclass(frozen=True)
class Box:
    """One copy: where it starts, for im2col by how much it is moved, and where it lies in shared memory."""

    at: tuple[int, ...]
    moved: tuple[int, ...] = ()
    shared: int = 0
    expect: int = 0
    mask: int = 0
    issues: bool = True

    def words(self) -> np.ndarray:
        row = np.zeros(16, np.int64)
        row[: len(self.at)] = self.at
        row[5 : 5 + len(self.moved)] = self.moved
        row[8:12] = self.shared, self.expect, self.mask, self.issues
        return row.astype("<i4")


def coordinates(rank: int) -> str:
    return "{" + ", ".join(f"%c{i}" for i in range(rank)) + "}"


READ_BOX = """
.reg .b32 %c<5>, %off<3>, %shared, %expect, %mask, %issues; .reg .b64 %map, %bar, %policy; .reg .b16 %o<3>, %mask16;
.reg .b32 %barrier, %done, %tries;
ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%w]; ld.global.v4.b32 {%c4, %off0, %off1, %off2}, [%w+16];
ld.global.v4.b32 {%shared, %expect, %mask, %issues}, [%w+32]; add.u32 %shared, %shared, %m;
cvt.u16.u32 %o0, %off0; cvt.u16.u32 %o1, %off1; cvt.u16.u32 %o2, %off2; cvt.u16.u32 %mask16, %mask;
mov.b64 %map, k_map; cvta.param.u64 %map, %map;
"""


def load_kernel(copy: str, size: int, cluster: int = 1) -> str:
    """Block i makes copy i.  Its result: `size` bytes of shared memory, poisoned before; whether the barrier's phase
    ended (0 or 1), the bytes expected; and the barrier's own 8 bytes before and after `expect_tx`, and at the end."""
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if cluster > 1 else "bar.sync 0;"
    return kernel(
        f"""
mad.wide.u32 %w, %block, 64, %in;
{READ_BOX}
{poison_shared(str(size), 128, "poison")}
add.u32 %barrier, %m, {size}; setp.eq.u32 %p, %t, 0;
mad.lo.u32 %x, %block, {size + TAIL}, 0; cvt.u64.u32 %w1, %x; add.u64 %w1, %w1, %out;
@!%p bra ready;
mbarrier.init.shared::cta.b64 [%barrier], 1; fence.mbarrier_init.release.cluster;
ld.shared.b64 %w2, [%barrier]; st.global.b64 [%w1+{size + 8}], %w2;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %expect;
ld.shared.b64 %w2, [%barrier]; st.global.b64 [%w1+{size + 16}], %w2;
ready: fence.proxy.async; {meet}
@!%p bra all;
createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
setp.ne.u32 %q, %issues, 0;
@!%q bra issued;
{copy}
issued: mov.u32 %tries, 0; mov.u32 %done, 0;
again: mbarrier.test_wait.parity.shared::cta.b64 %q, [%barrier], 0;
@%q mov.u32 %done, 1;
add.u32 %tries, %tries, 1; setp.lt.and.u32 %q, %tries, 200000, !%q;
@%q bra again;
st.global.v2.b32 [%w1+{size}], {{%done, %expect}};
ld.shared.b64 %w2, [%barrier]; st.global.b64 [%w1+{size + 24}], %w2;
all: {meet}
{copy_out("%w1", str(size), 128, "dump")}
{meet}""",
        f".explicitcluster .reqnctapercluster {cluster}, 1, 1" if cluster > 1 else "",
    )


def store_kernel(copy: str, count: int, size: int) -> str:
    """One block makes `count` copies, each after the last has ended, from `size` bytes of shared memory."""
    parts = []
    for i in range(count):
        parts.append(
            f"ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%in+{64 * i}]; "
            f"ld.global.v4.b32 {{%c4, %off0, %off1, %off2}}, [%in+{64 * i + 16}];\n"
            f"ld.global.v4.b32 {{%shared, %expect, %mask, %issues}}, [%in+{64 * i + 32}]; "
            f"add.u32 %shared, %shared, %m;\n"
            f"{copy} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        )
    together = "\n".join(parts)
    return kernel(
        f"""
mov.b64 %w, %in;
{READ_BOX}
add.u64 %w1, %in, {64 * count};
{copy_in("%w1", str(size), 128, "fill")}
fence.proxy.async; bar.sync 0; setp.eq.u32 %p, %t, 0;
@!%p bra all;
{together}
all: bar.sync 0;"""
    )


def without_states(size: int, result: bytes) -> bytes:
    rows = np.frombuffer(result, np.uint8).reshape(-1, size + TAIL)
    return rows[:, : size + SHOWN].tobytes()


def load_copy(rank: int, im2col: bool = False, multicast: bool = False, hint: bool = False) -> str:
    text = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{'im2col' if im2col else 'tile'}"
    text += ".mbarrier::complete_tx::bytes" + ".multicast::cluster" * multicast + ".L2::cache_hint" * hint
    text += f" [%shared], [%map, {coordinates(rank)}], [%barrier]"
    if im2col:
        text += ", {" + ", ".join(f"%o{i}" for i in range(rank - 2)) + "}"
    return text + ", %mask16" * multicast + ", %policy" * hint + ";"


def store_copy(rank: int, im2col: bool = False, operation: str = "") -> str:
    text = f"cp.reduce.async.bulk.tensor.{rank}d" if operation else f"cp.async.bulk.tensor.{rank}d"
    text += f".global.shared::cta{'.' + operation if operation else ''}.{'im2col_no_offs' if im2col else 'tile'}"
    return f"{text}.bulk_group [%map, {coordinates(rank)}], [%shared];"


# --- tensors and boxes


def tensor_bytes(made: TensorMap) -> int:
    """Of the buffer that holds the tensor, and some bytes behind it."""
    strides = (made.element, *made.strides)
    size = made.offset + sum((d - 1) * s for d, s in zip(made.dims, strides, strict=True)) + 512
    return -(-size // 64) * 64


def tensor_data(seed: str, made: TensorMap) -> bytes:
    """Random bits; of floats, every other element of moderate size."""
    size = tensor_bytes(made)
    raw = random_bits(f"tensor {seed}", size // 8).astype("<u8")
    return mild(raw, TYPES[made.kind]).tobytes()


def mild(raw: np.ndarray, kind: str) -> np.ndarray:
    """Moderate exponents for every other element of random bits, so that sums round and comparisons mean something."""
    kinds = {"f16": (5, 10), "bf16": (8, 7), "f64": (11, 52)} | dict.fromkeys(
        ("f32", "f32.ftz", "tf32", "tf32.ftz"), (8, 23)
    )
    if kind not in kinds:
        return raw
    exponent, fraction = kinds[kind]
    bits = 1 + exponent + fraction
    words = raw.view(f"<u{bits // 8}").copy()
    kept = words[1::2].astype(np.uint64)
    sign_and_fraction = kept & np.uint64((1 << bits - 1) | (1 << fraction) - 1)
    power = np.uint64((1 << exponent - 1) - 4) + (kept >> np.uint64(fraction)) % np.uint64(7)
    words[1::2] = (sign_and_fraction | power << np.uint64(fraction)).astype(words.dtype)
    return words


def box_bytes(made: TensorMap) -> int:
    """That a barrier counts for one box, inside of the tensor or not."""
    if made.im2col:
        return made.channels * made.pixels * made.element
    steps = made.steps or (1,) * len(made.box)
    counts = [made.box[0], *(-(-b // s) for b, s in zip(made.box[1:], steps[1:], strict=True))]
    return prod(counts) * made.element


def slice_bytes(made: TensorMap) -> int:
    """Of what dimension 0 counts: an element, or a slice of interleaved channels."""
    return (made.element, 16, 32)[made.interleave]


def copied_bytes(made: TensorMap) -> int:
    """As box_bytes, but right for interleaved channels too: a box is one slice of them deep."""
    if not made.interleave:
        return box_bytes(made)
    pixels = made.pixels if made.im2col else prod((*made.box[:-2], made.box[-1]))
    return pixels * slice_bytes(made)


def footprint(made: TensorMap) -> int:
    """Bytes of shared memory from a box's first to its last: a swizzled row takes its whole span."""
    row = (made.channels if made.im2col else made.box[0]) * made.element
    return box_bytes(made) // row * max(row, SWIZZLE_BYTES[made.swizzle])


def aligned(made: TensorMap, start: tuple[int, ...]) -> tuple[int, ...]:
    """A box must begin at a multiple of 16 bytes (a slice, if channels are interleaved): an H200 faults otherwise."""
    unit = max(1, (32 if made.interleave == 2 else 16) // made.element)
    return (start[0] // unit * unit, *start[1:])


def starts(seed: str, made: TensorMap, count: int) -> list[tuple[int, ...]]:
    """Where boxes start: at the origin, before it, across each end, then at random."""
    raw = iter([int(x) for x in random_bits(f"starts {seed}", 16 * count)])
    reach = made.box or (made.channels, *(3,) * (len(made.dims) - 1))
    found = [(0,) * len(made.dims), tuple(-(b // 2) for b in reach)]
    found.append(tuple(d - (b + 1) // 2 for d, b in zip(made.dims, reach, strict=True)))
    while len(found) < count:
        found.append(tuple(next(raw) % (d + 2 * b) - b for d, b in zip(made.dims, reach, strict=True)))
    return [aligned(made, start) for start in found[:count]]


def inner_starts(seed: str, made: TensorMap, count: int) -> list[tuple[int, ...]]:
    """Where boxes of stores start, all inside the tensor: at the origin, across each end, then at random."""
    raw = iter([int(x) for x in random_bits(f"inner starts {seed}", 16 * count)])
    found = [(0,) * len(made.dims)]
    found.append(tuple(max(0, d - (b + 1) // 2) for d, b in zip(made.dims, made.box, strict=True)))
    while len(found) < count:
        found.append(tuple(next(raw) % d for d in made.dims))
    return [aligned(made, start) for start in found[:count]]


def load_case(
    name: str,
    made: TensorMap,
    boxes: list[Box],
    hint: bool = False,
    keep: bool = False,
    spare: int = 0,
    expect: int | None = None,
) -> Case:
    """spare: shared memory to look at beyond the largest box.  expect: bytes, in place of box_bytes."""
    size = -(-(max(b.shared for b in boxes) + footprint(made) + spare) // 128) * 128
    expect = box_bytes(made) if expect is None else expect
    rows = [replace(b, expect=expect) for b in boxes]
    return Case(
        f"load {name}",
        load_kernel(load_copy(len(made.dims), made.im2col, hint=hint), size),
        lambda: b"".join(b.words().tobytes() for b in rows),
        len(boxes) * (size + TAIL),
        grid=len(boxes),
        shared=size + 16,
        tensor_map=made,
        tensor=partial(tensor_data, name, made),
        decode=partial(without_states, size),
        keep=keep,
        about=("load", made, rows, size),
    )


def source_bytes(name: str, made: TensorMap, size: int) -> bytes:
    return mild(random_bits(f"source {name}", size // 8).astype("<u8"), TYPES[made.kind]).tobytes()


def store_case(
    name: str, made: TensorMap, boxes: list[Box], operation: str = "", keep: bool = False, spare: int = 0
) -> Case:
    room = -(-footprint(made) // 128) * 128 + 128 + spare
    size = room * len(boxes)
    rows = [replace(b, shared=room * i) for i, b in enumerate(boxes)]
    verb = f"reduce {operation}" if operation else "store"
    return Case(
        f"{verb} {name}",
        store_kernel(store_copy(len(made.dims), made.im2col, operation), len(boxes), size),
        lambda: b"".join(b.words().tobytes() for b in rows) + source_bytes(name, made, size),
        0,
        shared=size,
        tensor_map=made,
        tensor=partial(tensor_data, name, made),
        writes_tensor=True,
        keep=keep,
        about=(operation or "store", made, rows, size),
    )


def random_tile(seed: str, strided: bool = True) -> TensorMap:
    raw = iter([int(x) for x in random_bits(f"tile {seed}", 60)])

    def pick(*options: int) -> int:
        return options[next(raw) % len(options)]

    kind, rank, swizzle = next(raw) % 13, pick(1, 2, 2, 3, 4, 5), next(raw) % 4
    size = SIZES[TYPES[kind]]
    most = {1: (300,), 2: (50, 20), 3: (40, 9, 7), 4: (30, 6, 5, 4), 5: (30, 5, 4, 3, 3)}[rank]
    dims = tuple(1 + next(raw) % m for m in most)
    strides, least = [], dims[0] * size
    for i in range(rank - 1):
        stride = -(-least // 16) * 16 + 16 * pick(0, 0, 1, 3)
        strides.append(stride)
        least = stride * dims[i + 1]
    inner = 16 * (1 + next(raw) % (max(1, SWIZZLE_BYTES[swizzle] // 16) if swizzle else pick(2, 8, 16))) // size
    steps = [1] * rank
    if strided and rank > 1 and next(raw) % 3 == 0:
        steps[1 + next(raw) % (rank - 1)] = pick(2, 3, 4, 7)
    limit = {1: 1, 2: 16, 3: 6, 4: 4, 5: 3}[rank]
    box = tuple((1 + next(raw) % limit) * s for s in steps[1:])
    fill = next(raw) % 2 if TYPES[kind] in FLOATING else 0
    return TensorMap(
        kind, dims, tuple(strides), (min(inner, 256), *box), tuple(steps), 0, swizzle, next(raw) % 4, fill,
        offset=16 * (next(raw) % 4),
    )  # fmt: skip


def random_im2col(seed: str, strided: bool = True) -> TensorMap:
    raw = iter([int(x) for x in random_bits(f"im2col {seed}", 60)])

    def pick(*options: int) -> int:
        return options[next(raw) % len(options)]

    kind, rank, swizzle = next(raw) % 13, pick(3, 4, 4, 5), next(raw) % 4
    size = SIZES[TYPES[kind]]
    most = {3: (40, 20, 5), 4: (32, 9, 8, 4), 5: (24, 6, 5, 5, 3)}[rank]
    dims = tuple(m // 2 + 1 + next(raw) % (m // 2) for m in most)
    strides, least = [], dims[0] * size
    for i in range(rank - 1):
        stride = -(-least // 16) * 16 + 16 * pick(0, 0, 1)
        strides.append(stride)
        least = stride * dims[i + 1]
    inner = 16 * (1 + next(raw) % (max(1, SWIZZLE_BYTES[swizzle] // 16) if swizzle else 4)) // size
    steps = [1] * rank
    if strided and next(raw) % 2 == 0:
        for i in range(1, rank - 1):
            steps[i] = pick(1, 2, 3)
    lower = tuple(pick(0, -1, -2, 1) for _ in range(rank - 2))
    upper = tuple(pick(0, -1, -2, 1) for _ in range(rank - 2))
    fill = next(raw) % 2 if TYPES[kind] in FLOATING else 0
    return TensorMap(
        kind, dims, tuple(strides), (), tuple(steps), 0, swizzle, 0, fill, lower=lower, upper=upper,
        channels=min(inner, 256), pixels=1 + next(raw) % 40, offset=16 * (next(raw) % 4),
    )  # fmt: skip


def im2col_starts(seed: str, made: TensorMap, count: int) -> list[Box]:
    """In the bounding box, from its first pixel on; and offsets of a filter."""
    raw = iter([int(x) for x in random_bits(f"pixels {seed}", 16 * count)])
    assert made.lower is not None
    found = []
    for i in range(count):
        spans = [max(1, d + u - w) for d, w, u in zip(made.dims[1:-1], made.lower, made.upper, strict=True)]
        pixel = [w + (next(raw) % s if i else 0) for w, s in zip(made.lower, spans, strict=True)]
        channel = next(raw) % max(1, made.dims[0]) if i > 2 else 0
        image = next(raw) % made.dims[-1] if i else 0
        moved = tuple(next(raw) % 4 if i > 1 else 0 for _ in made.lower)
        found.append(Box(aligned(made, (channel, *pixel, image)), moved))
    return found


# --- the cases


def tiled_loads() -> Iterator[Case]:
    for kind, name in enumerate(TYPES):
        inner = 64 // SIZES[name]
        made = TensorMap(kind, (inner + 3, 10), (-(-(inner + 3) * SIZES[name] // 16) * 16 + 16,), (inner, 6))
        for fill in (0, 1) if name in FLOATING else (0,):
            label = f"type {name} fill {fill}"
            yield load_case(label, replace(made, fill=fill), [Box(at) for at in starts(label, made, 6)], keep=True)
    shapes = {
        1: TensorMap(1, (200,), (), (32,)),
        2: TensorMap(1, (70, 20), (160,), (64, 16)),
        3: TensorMap(1, (70, 9, 5), (144, 1440), (64, 4, 3)),
        4: TensorMap(1, (70, 5, 4, 4), (144, 720, 2880), (64, 3, 2, 2)),
        5: TensorMap(1, (70, 4, 4, 3, 3), (144, 576, 2304, 6912), (64, 2, 2, 2, 2)),
    }
    for rank, made in shapes.items():
        for swizzle, width in enumerate(SWIZZLE_BYTES):
            for inner in (16, 32, 64, 128) if width == 128 and rank > 1 else (width or 128,):
                box = (inner // 2, *made.box[1:]) if rank > 1 else (min(inner // 2, 32),)
                if swizzle and box[0] * 2 > width:
                    continue
                label = f"rank {rank} swizzle {width} inner {box[0]}"
                boxes = [Box(at) for at in starts(label, made, 5)]
                yield load_case(label, replace(made, box=box, swizzle=swizzle), boxes)
    for swizzle in (1, 2, 3):
        made = replace(shapes[2], box=(SWIZZLE_BYTES[swizzle] // 2, 8), swizzle=swizzle)
        yield load_case(
            f"swizzle {SWIZZLE_BYTES[swizzle]} at every 128 bytes", made, [Box((8, 2), (), 128 * i) for i in range(9)]
        )
    for step in range(1, 9):
        made = replace(shapes[2], box=(32, 3 * step), steps=(1, step))
        yield load_case(f"every {step} of rows", made, [Box(at) for at in starts(f"step {step}", made, 6)])
        made = replace(shapes[2], box=(32, 4), steps=(step, 1))
        yield load_case(
            f"every {step} of columns", made, [Box(at) for at in starts(f"column {step}", made, 4)], spare=256
        )
        made = replace(shapes[3], box=(32, 5, step + 1), steps=(1, 2, step))
        yield load_case(f"every 2, {step} of planes", made, [Box(at) for at in starts(f"plane {step}", made, 6)])
    yield load_case("256 rows", TensorMap(0, (40, 300), (48,), (16, 256)), [Box((16, 3)), Box((32, 100))])
    yield load_case("256 wide", TensorMap(2, (300, 10), (1200,), (256, 2)), [Box((4, 3)), Box((100, 9))])
    yield load_case(
        "far outside",
        shapes[2],
        [Box(at) for at in ((2**31 - 8, 0), (0, 2**31 - 1), (-(2**31), -(2**31)), (-72, 5), (1 << 20, -(1 << 20)))],
    )
    yield load_case("a cache hint", shapes[2], [Box(at) for at in starts("hint", shapes[2], 4)], hint=True)
    for i in range(200):
        made = random_tile(str(i))
        yield load_case(f"random {i}", made, [Box(at, (), 1024 * (i % 2)) for at in starts(str(i), made, 5)])


def interleaved_loads() -> Iterator[Case]:
    """Slices of 16 or 32 bytes of channels, as NC/8HWC8."""
    for interleave, slice_bytes in ((1, 16), (2, 32)):
        for swizzle in (0, 1, 2, 3) if interleave == 1 else (1,):
            for kind in (0, 1, 2, 6):
                size = SIZES[TYPES[kind]]
                for rank in (3, 4, 5):
                    # dims: elements of a slice or of all channels, W, then H, D, slices or images
                    for slices in (1, 3):
                        channels = slices * slice_bytes // size
                        dims = (channels, 6, 5, 4, 3)[:rank]
                        strides = (slice_bytes * 6 * 1, slice_bytes * 6 * 5 + 32, slice_bytes * 6 * 5 * 4 + 96, 4096)
                        for inner in {slice_bytes // size, channels}:
                            box = (inner, 4, 2, 2, 1)[:rank]
                            made = TensorMap(
                                kind, dims, strides[: rank - 1], box, interleave=interleave, swizzle=swizzle
                            )
                            label = (
                                f"interleave {slice_bytes} {TYPES[kind]} rank {rank} swizzle {swizzle} "
                                f"{channels}/{inner}"
                            )
                            yield load_case(label, made, [Box(at) for at in starts(label, made, 5)], spare=1024)


SLICED = ((1, 16, 0), (1, 16, 2), (2, 32, 1))  # interleave, bytes of a slice, swizzle


def interleaved_pixels() -> Iterator[Case]:
    """Interleaved tensors read by im2col, and stores that fault: see `faulting_stores`."""
    for interleave, width, swizzle in SLICED:
        strides = (width * 6, width * 6 * 5 + 32, width * 6 * 5 * 4 + 96)
        for slices in (1, 3):
            inner = slices * width // 4
            made = TensorMap(
                2, (inner, 6, 5, 4), strides, (width // 4, 4, 2, 2), interleave=interleave, swizzle=swizzle
            )
            label = f"interleave {width} swizzle {swizzle} {slices}"
            yield store_case(label, made, [Box(at) for at in starts(label, made, 3)])
            yield store_case(label, made, [Box(at) for at in starts(label, made, 3)], "add")
            for rank in (3, 4):
                corner = (-1,) * (rank - 2)
                pixels = replace(
                    made, dims=(inner, 6, 5, 4)[:rank], strides=strides[: rank - 1], box=(), lower=corner, upper=corner,
                    channels=width // 4, pixels=8,
                )  # fmt: skip
                yield load_case(f"im2col {label} rank {rank}", pixels, im2col_starts(label, pixels, 5), spare=512)


def interleaved_stores() -> Iterator[Case]:
    """Dimensions are width, height, slices and images.  And loads of boxes that ask for more than one slice."""
    for interleave, width, swizzle in SLICED:
        plane = width * 6 * 5 + 32
        strides = (width * 6, plane, 4 * plane)
        made = TensorMap(2, (6, 5, 4, 3), strides, (4, 3, 1, 2), interleave=interleave, swizzle=swizzle)
        label = f"inside interleave {width} swizzle {swizzle}"
        spare = copied_bytes(made)
        boxes = [Box(at) for at in ((0, 0, 0, 0), (4, 3, 2, 1), (1, 2, 3, 2))]
        yield store_case(label, made, boxes, spare=spare)
        yield store_case(label, made, boxes, "add", spare=spare)
        for deep in (1, 2, 4, 8, 16):
            deeper = replace(made, box=(4, 3, deep, 1))
            yield load_case(
                f"{label}, {deep} deep", deeper, [Box((0, 0, 0, 0)), Box((0, 1, 1, 1))], keep=True, spare=8192,
                expect=copied_bytes(deeper),
            )  # fmt: skip


def im2col_loads() -> Iterator[Case]:
    for rank in (3, 4, 5):
        base = {
            3: TensorMap(1, (16, 12, 5), (32, 384), lower=(0,), upper=(0,), channels=16, pixels=16),
            4: TensorMap(1, (16, 7, 6, 4), (32, 224, 1344), lower=(0, 0), upper=(0, 0), channels=16, pixels=32),
            5: TensorMap(
                1, (16, 5, 4, 4, 3), (32, 160, 640, 2560), lower=(0,) * 3, upper=(0,) * 3, channels=16, pixels=48
            ),
        }[rank]  # fmt: skip
        dims = rank - 2
        for lower, upper in ((0, 0), (-1, -1), (-1, 0), (0, -2), (-2, -2), (1, 1), (-1, 1), (2, 0)):
            made = replace(base, lower=(lower,) * dims, upper=(upper,) * dims)
            label = f"im2col rank {rank} corners {lower} {upper}"
            yield load_case(label, made, im2col_starts(label, made, 6))
        for step in (2, 3, 4):
            made = replace(base, lower=(-1,) * dims, upper=(-1,) * dims, steps=(1, *(step,) * dims, 1))
            label = f"im2col rank {rank} every {step}"
            yield load_case(label, made, im2col_starts(label, made, 6))
        for swizzle in (1, 2, 3):
            made = replace(base, channels=min(16, SWIZZLE_BYTES[swizzle] // 2), swizzle=swizzle)
            label = f"im2col rank {rank} swizzle {SWIZZLE_BYTES[swizzle]}"
            yield load_case(label, made, im2col_starts(label, made, 4))
        for channels in (8, 24, 32):
            made = replace(base, channels=channels)
            label = f"im2col rank {rank} channels {channels}"
            yield load_case(label, made, im2col_starts(label, made, 6))
    for i in range(150):
        made = random_im2col(str(i))
        yield load_case(f"im2col random {i}", made, im2col_starts(str(i), made, 5))


def type_map(kind: int) -> TensorMap:
    size = SIZES[TYPES[kind]]
    inner = 64 // size
    return TensorMap(kind, (inner + 3, 10), (-(-(inner + 3) * size // 16) * 16 + 16,), (inner, 6))


def faulting_stores() -> Iterator[Case]:
    """Of each, one box begins before the tensor, which loads may do."""
    for kind, name in enumerate(TYPES):
        made, label = type_map(kind), f"type {name}"
        boxes = [Box(at) for at in starts(label, made, 3)]
        yield store_case(label, made, boxes)
        for operation in OPERATIONS:
            yield store_case(label, made, boxes[1:], operation, keep=True)
    for i in range(14):
        made = replace(random_tile(f"s{i}"), fill=0)
        yield store_case(f"random {i}", made, [Box(at) for at in starts(f"s{i}", made, 3)])


def stores() -> Iterator[Case]:
    for kind, name in enumerate(TYPES):
        made, label = type_map(kind), f"inside type {name}"
        boxes = [Box(at) for at in inner_starts(label, made, 3)]
        yield store_case(label, made, boxes)
        for operation in OPERATIONS:
            yield store_case(label, made, boxes[1:], operation, keep=True)
    for i in range(100):
        made = replace(random_tile(f"s{i}"), fill=0)
        yield store_case(f"inside random {i}", made, [Box(at) for at in inner_starts(f"s{i}", made, 3)])
    for i in range(40):
        made = replace(random_tile(f"r{i}", strided=i % 2 == 0), kind=(2, 3, 6, 9)[i % 4], fill=0)
        size = SIZES[TYPES[made.kind]]
        dims = (max(made.dims[0] // size, 1), *made.dims[1:])
        made = replace(
            made, dims=dims, box=(max(1, made.box[0] * random_tile(f"r{i}", i % 2 == 0).element // size), *made.box[1:])
        )
        boxes = [Box(at) for at in inner_starts(f"r{i}", made, 3)]
        yield store_case(f"inside random {i}", made, boxes, ("add", "max")[i // 4 % 2])
    for i in range(40):
        made = with_pixels(replace(random_im2col(f"s{i}", strided=i % 3 == 0), fill=0))
        yield store_case(f"inside im2col random {i}", made, inner_pixels(f"s{i}", made))
    for i in range(6):
        made = with_pixels(replace(random_im2col(f"a{i}"), kind=2, fill=0, channels=4, swizzle=0))
        yield store_case(f"inside im2col {i}", made, inner_pixels(f"a{i}", made), "add")
    # Which coordinates of a store fault: one box a case.
    made = TensorMap(1, (64, 20), (160,), (32, 4))
    for at in ((-8, 0), (0, -1), (-32, 0), (0, -4), (64, 0), (0, 20), (56, 19), (1 << 20, 0), (0, 1 << 20)):
        yield store_case(f"from {at[0]}, {at[1]}", made, [Box(at)])


def inner_pixels(seed: str, made: TensorMap) -> list[Box]:
    """As im2col_starts, but inside the tensor, and not moved, which stores cannot be."""
    starts = [box.at for box in im2col_starts(seed, made, 3)]
    return [Box(tuple(min(max(0, c), d - 1) for c, d in zip(at, made.dims, strict=True))) for at in starts]


def with_pixels(made: TensorMap) -> TensorMap:
    """With corners between which at least one pixel lies."""
    assert made.lower is not None
    upper = [max(u, w + 1 - d) for d, w, u in zip(made.dims[1:], made.lower, made.upper, strict=False)]
    return replace(made, upper=tuple(upper))


def multicasts() -> Iterator[Case]:
    """Block 0, or each block a part, copies to the blocks that a mask names; each barrier expects its own bytes."""
    made = TensorMap(1, (70, 20), (160,), (32, 4), swizzle=0)
    one = box_bytes(made)
    for cluster in (2, 4):
        for mask in range(1, 1 << cluster):
            rows = [Box((8, 3), (), 0, one * (mask >> i & 1), mask, i == 0) for i in range(cluster)]
            yield multicast_case(f"one to {mask:0{cluster}b}", made, rows, cluster)
        full = (1 << cluster) - 1
        rows = [Box((8 * i, 4 * i), (), one * i, one * cluster, full, True) for i in range(cluster)]
        yield multicast_case(f"all to all of {cluster}", made, rows, cluster)
        rows = [Box((8 * i, 4 * i - 2), (), one * i, one * cluster, full, True) for i in range(cluster)]
        yield multicast_case(f"all to all of {cluster} swizzled", replace(made, swizzle=2), rows, cluster)


def multicast_case(name: str, made: TensorMap, rows: list[Box], cluster: int, bulk: bool = False) -> Case:
    size = 2048
    if bulk:
        copy = (
            "mad.wide.u32 %w2, %c0, 1, %w3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%shared], [%w2], %c1, [%barrier], %mask16;"
        )
        copy = f"add.u64 %w3, %in, {64 * len(rows)}; {copy}"
    else:
        copy = load_copy(len(made.dims), multicast=True)
    return Case(
        f"multicast {name}",
        load_kernel(copy, size, cluster),
        lambda: b"".join(b.words().tobytes() for b in rows) + (bulk_source() if bulk else b""),
        len(rows) * (size + TAIL),
        grid=len(rows),
        shared=size + 16,
        tensor_map=None if bulk else made,
        tensor=None if bulk else partial(tensor_data, name, made),
        decode=partial(without_states, size),
        keep=True,
        about=("multicast", None if bulk else made, rows, size),
    )


def bulk_source() -> bytes:
    return random_bits("bulk", 1024).astype("<u8").tobytes()


BULK_REDUCTIONS = {
    **dict.fromkeys(("add",), ("u32", "s32", "u64", "f16", "bf16", "f32", "f64")),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}


def bulk_copies() -> Iterator[Case]:
    sizes = (16, 32, 48, 112, 128, 496, 1024, 2032)
    rows = [Box((16 * i, size), (), 16 * (i % 3), size) for i, size in enumerate(sizes)]
    for hint in (False, True):
        copy = (
            f"add.u64 %w3, %in, {64 * len(rows)}; mad.wide.u32 %w2, %c0, 1, %w3;"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            f"{'.L2::cache_hint' * hint} [%shared], [%w2], %c1, [%barrier]{', %policy' * hint};"
        )
        yield Case(
            "bulk load" + " with a cache hint" * hint,
            load_kernel(copy, 2176),
            lambda: b"".join(b.words().tobytes() for b in rows) + bulk_source(),
            len(rows) * (2176 + TAIL),
            grid=len(rows),
            shared=2176 + 16,
            decode=partial(without_states, 2176),
            about=("bulk", None, rows, 2176),
        )
    for cluster in (2, 4):
        for mask in (1, 2, 3, 5, 15):
            if mask < 1 << cluster:
                cast = [Box((64, 256), (), 32, 256 * (mask >> i & 1), mask, i == 0) for i in range(cluster)]
                yield multicast_case(
                    f"bulk one to {mask:0{cluster}b}", TensorMap(0, (1,), ()), cast, cluster, bulk=True
                )
    flat = [Box((16 * i, size), (), 32 * i) for i, size in enumerate((16, 64, 240))]
    for operation in ("", *BULK_REDUCTIONS):
        for kind in BULK_REDUCTIONS[operation] if operation else ("b8",):
            noftz = ".noftz" if operation == "add" and kind in ("f16", "bf16") else ""
            verb = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{noftz}.{kind}"
            if not operation:
                verb = "cp.async.bulk.global.shared::cta.bulk_group"
            copy = f"mad.wide.u32 %w2, %c0, 1, %out; {verb} [%w2], [%shared], %c1;"
            rows_now = flat[1:2] if operation else flat

            def given(rows: list[Box] = rows_now, kind: str = kind) -> bytes:
                boxes = b"".join(b.words().tobytes() for b in rows)
                data = mild(random_bits(f"source bulk {kind}", 64).astype("<u8"), kind).tobytes()
                start = mild(random_bits(f"target bulk {kind}", 64).astype("<u8"), kind).tobytes()
                return boxes + data + start

            begin = f"{copy_in_global(64 * len(rows_now) + 512, 512)}\n" if operation else ""
            yield Case(
                f"bulk reduce {operation} {kind}" if operation else "bulk store",
                store_kernel(copy, len(rows_now), 512).replace(
                    "fence.proxy.async; bar", f"{begin}fence.proxy.async; bar"
                ),
                given,
                512,
                shared=512,
                keep=True,
                about=("bulk " + (operation or "store"), kind, rows_now, 512),
            )


def copy_in_global(offset: int, size: int) -> str:
    """Fills the first `size` bytes at `out` from the input; 4 bytes a thread."""
    assert size == 512
    return (
        f"mad.wide.u32 %w2, %t, 4, %in; ld.global.b32 %x, [%w2+{offset}]; mad.wide.u32 %w2, %t, 4, %out; "
        "st.global.b32 [%w2], %x; "
    )


def unaligned() -> Iterator[Case]:
    """Boxes that begin elsewhere than at a multiple of 16 bytes: what faults, faults."""
    for kind, name in enumerate(TYPES):
        if name not in ("u8", "f16", "f32", "f64"):
            continue
        size = SIZES[name]
        made = TensorMap(kind, (128 // size, 10), (160,), (32 // size, 4))
        for bytes_in in sorted({size, 2 * size, 4 * size, 8, 12, 16, 24}):
            if bytes_in % size == 0:
                yield load_case(f"{name} {bytes_in} bytes into a row", made, [Box((bytes_in // size, 1))])
        yield load_case(f"{name} {size} bytes before a row", made, [Box((-1, 1))])
        yield store_case(f"{name} {size} bytes into a row", made, [Box((1, 1))])
    pixels = TensorMap(1, (16, 12, 5), (32, 384), lower=(0,), upper=(0,), channels=8, pixels=16)
    for channel in (1, 4, 8):
        yield load_case(f"im2col from channel {channel}", pixels, [Box((channel, 0, 0), (0,))])


def prefetches() -> Iterator[Case]:
    """They change nothing; the load after them is an ordinary one."""
    made = TensorMap(1, (70, 9, 5), (144, 1440), (32, 4, 3))
    text = f"cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%map, {coordinates(3)}]; prefetch.tensormap [%map];\n"
    case = load_case("after a prefetch", made, [Box(at) for at in starts("prefetch", made, 4)])
    plain = load_copy(3)
    yield replace(case, source=case.source.replace(plain, text + plain))


def copy_cases() -> list[Case]:
    made = [tiled_loads(), interleaved_loads(), im2col_loads(), interleaved_pixels(), faulting_stores()]
    return [case for cases in made for case in cases]


def store_cases() -> list[Case]:
    """And every other copy."""
    from hopper.clusters import waits  # of barriers that count bytes

    made = [
        stores(),
        interleaved_stores(),
        multicasts(),
        bulk_copies(),
        prefetches(),
        replaced_maps(),
        waits(),
        unaligned(),
    ]
    return [case for cases in made for case in cases]


def replaced_maps() -> Iterator[Case]:
    """A map that a kernel changes in shared memory, publishes with `tensormap.cp_fenceproxy` and loads with."""
    made = TensorMap(1, (70, 20), (160,), (32, 8))
    size = box_bytes(made)
    body = f"""
.reg .b64 %map, %policy; .reg .b32 %c<2>, %shared, %barrier;
{poison_shared(str(size), 128, "poison")}
add.u32 %shared, %m, 0; add.u32 %barrier, %m, {size + 128}; setp.eq.u32 %p, %t, 0; mov.u32 %c0, 8; mov.u32 %c1, 2;
@!%p bra ready;
{"".join(f"ld.param.b64 %w, [k_map+{8 * i}]; st.shared.b64 [%m+{size + 8 * i}], %w; " for i in range(16))}
add.u32 %x, %m, {size};
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%x], 0, 20;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%x], 1, 7;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%x], 1, 2;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%x], 1, 15;
mbarrier.init.shared::cta.b64 [%barrier], 1;
ready: bar.sync 0; setp.lt.u32 %q, %t, 32; @!%q bra all;
add.u32 %x, %m, {size}; cvt.u64.u32 %w2, %x; cvta.shared.u64 %w2, %w2;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%out+{size}], [%x], 128;
@!%p bra all;
add.u64 %map, %out, {size};
fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
fence.proxy.async;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], {size};
{load_copy(2)}
mov.u32 %y, 0;
again: mbarrier.test_wait.parity.shared::cta.b64 %q, [%barrier], 0;
add.u32 %y, %y, 1; setp.lt.and.u32 %q, %y, 200000, !%q;
@%q bra again;
all: bar.sync 0;
{copy_out("%out", str(size), 128, "dump")}"""
    yield Case(
        "a replaced map in use",
        kernel(body),
        lambda: b"",
        size + 128,
        shared=size + 144,
        tensor_map=made,
        tensor=partial(tensor_data, "replaced", made),
        decode=lambda result: result[:size],
        keep=True,
        about=("replaced", made),
    )


# --- what the hardware refuses


def bulk_load(size: int = 64, shift: int = 0) -> str:
    return (
        f"add.u64 %w2, %in, {64 + shift}; mov.u32 %x, {size}; cvt.s64.s32 %w3, %c0; add.u64 %w2, %w2, %w3; "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%shared], [%w2], %x, [%barrier];"
    )


@dataclass(frozen=True)
class Bytes:
    """A tensor map of these very bytes."""

    seed: str

    def encode(self, address: int) -> tuple[int, np.ndarray]:
        raw = random_bits(self.seed, 16).astype("<u8").view(np.uint8) if self.seed else np.zeros(128, np.uint8)
        return 0, raw


@dataclass(frozen=True)
class Elsewhere:
    """A legal map of a tensor at an address where nothing is."""

    map: TensorMap

    def encode(self, address: int) -> tuple[int, np.ndarray]:
        return self.map.encode(0x10000)


def fault_cases() -> list[Case]:
    """Kernels that break a rule.  What a device answers is kept as the reason of the refusal, or as the result."""
    plain = TensorMap(1, (70, 20), (160,), (32, 4))
    pixels = TensorMap(1, (16, 12, 5), (32, 384), lower=(0,), upper=(0,), channels=16, pixels=16)
    deep = TensorMap(1, (70, 9, 5), (144, 1440), (32, 4, 2))
    size = 1024

    def load(name: str, made: object, box: Box, copy: str, tensor: TensorMap = plain) -> Case:
        return Case(
            f"fault: {name}",
            load_kernel(copy, size),
            lambda: box.words().tobytes() + bulk_source(),
            size + TAIL,
            shared=size + 16,
            tensor_map=made,
            tensor=partial(tensor_data, "fault", tensor),
            decode=partial(without_states, size),
            keep=True,
        )

    at = Box((0, 0, 0), (), 0, 256)
    cases = [
        load("nothing wrong", plain, at, load_copy(2)),
        load("a map of zeros", Bytes(""), at, load_copy(2)),
        load("a map of random bytes", Bytes("a map"), at, load_copy(2)),
        load("a map of other random bytes", Bytes("another map"), at, load_copy(2)),
        load("a tensor where nothing is", Elsewhere(plain), at, load_copy(2)),
        load("3d of a 2d tensor", plain, at, load_copy(3)),
        load("1d of a 2d tensor", plain, at, load_copy(1)),
        load("2d of a 3d tensor", deep, at, load_copy(2), deep),
        load("tile of an im2col map", pixels, at, load_copy(3), pixels),
        load("im2col of a tiled map", deep, at, load_copy(3, im2col=True), deep),
    ]
    cases += [
        load(f"to shared memory + {off}", plain, replace(at, shared=off), load_copy(2)) for off in (8, 16, 32, 64)
    ]
    swizzled = replace(plain, swizzle=2)
    cases += [
        load(f"swizzled, to shared memory + {off}", swizzled, replace(at, shared=off), load_copy(2)) for off in (16, 64)
    ]
    for name, copy, box in (
        ("bulk of 8 bytes", bulk_load(8), replace(at, expect=8)),
        ("bulk of 24 bytes", bulk_load(24), replace(at, expect=24)),
        ("bulk of 0 bytes", bulk_load(0), replace(at, expect=0)),
        ("bulk from + 8", bulk_load(64, 8), replace(at, expect=64)),
        ("bulk to + 8", bulk_load(64), replace(at, expect=64, shared=8)),
        ("bulk beyond shared memory", bulk_load(64), replace(at, expect=64, shared=240 * 1024)),
        ("bulk with more bytes than expected", bulk_load(64), replace(at, expect=32)),
        ("bulk with fewer bytes than expected", bulk_load(64), replace(at, expect=96)),
    ):
        cases.append(load(name, None, box, copy))
    for off in (8, 16, 64):
        case = store_case(f"from shared memory + {off}", plain, [Box((0, 0))])
        source = case.source.replace(
            "add.u32 %shared, %shared, %m;", f"add.u32 %shared, %shared, %m; add.u32 %shared, %shared, {off};"
        )
        cases.append(replace(case, name=f"fault: store from shared memory + {off}", source=source, keep=True))
    return cases
