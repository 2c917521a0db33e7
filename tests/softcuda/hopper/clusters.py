"""Cases of clusters, mbarriers, tensormap.replace and of instructions that must change no value."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from conformance.inputs import random_bits

from hopper.cases import HEADER, Case, copy_out, kernel, poison_shared
from hopper.driver import Module, check, library
from hopper.maps import BASES

# --- mbarrier: one thread, one operation after the other


@dataclass(frozen=True)
class Step:
    """An operation on the barrier, and the state word that it gives (or none)."""

    text: str
    gives: bool


STEP_BYTES = 32  # of the result: see `sequence_kernel`


def without_states(result: bytes) -> bytes:
    """The barrier's and the state's own words are the device's affair."""
    return np.frombuffer(result, np.uint8).reshape(-1, STEP_BYTES)[:, :16].tobytes()


def sequence_kernel(count: int, steps: list[Step]) -> str:
    """After each step, four words: pending_count of the state that it gave (or 0), test_wait.parity of 0,
    try_wait.parity of 1, test_wait of the first state (2: none yet); then the barrier's and the state's 8 bytes."""
    parts = []
    for i, step in enumerate([Step("", False), *steps]):
        parts.append(f"mov.u64 %state, 0; {step.text}")
        if step.gives:
            parts.append("setp.eq.u64 %q, %first, 0; @%q mov.u64 %first, %state;")
        parts.append("mbarrier.pending_count.b64 %x, %state;" if step.gives else "mov.u32 %x, 0;")
        for name, text in (("y", "test_wait.parity"), ("z", "try_wait.parity")):
            parts.append(f"mbarrier.{text}.shared::cta.b64 %q, [%m], {int(name == 'z')}; selp.u32 %{name}, 1, 0, %q;")
        parts.append("mov.u32 %u, 2; setp.ne.u64 %q, %first, 0; @!%q bra " + f"skip{i};")
        parts.append("mbarrier.test_wait.shared::cta.b64 %q, [%m], %first; selp.u32 %u, 1, 0, %q;")
        parts.append(f"skip{i}: ld.shared.b64 %w, [%m];")
        parts.append(f"st.global.v4.b32 [%out+{STEP_BYTES * i}], {{%x, %y, %z, %u}};")
        parts.append(f"st.global.v2.b64 [%out+{STEP_BYTES * i + 16}], {{%w, %state}};")
    text = "\n".join(parts)
    return kernel(
        f".reg .b64 %state, %first; setp.ne.u32 %p, %t, 0; @%p ret; mov.u64 %first, 0;\n"
        f"mbarrier.init.shared::cta.b64 [%m], {count};\n{text}"
    )


def random_sequence(seed: str) -> tuple[int, list[Step]]:
    """Legal operations: no more arrivals than are pending, no more bytes completed than expected."""
    raw = iter([int(x) for x in random_bits(f"sequence {seed}", 100)])
    count = expected = pending = 1 + next(raw) % 6
    bytes_due, steps = 0, []
    for _ in range(14):
        kind = next(raw) % 8
        n = 1 + next(raw) % max(1, pending)
        if kind == 0 and expected > n and pending > n and seed[0] == "d":
            steps.append(Step(f"mbarrier.arrive_drop.shared::cta.b64 %state, [%m], {n};", True))
            expected, pending = expected - n, pending - n
        elif kind == 1 and pending > n:
            steps.append(Step(f"mbarrier.arrive.noComplete.shared::cta.b64 %state, [%m], {n};", True))
            pending -= n
        elif kind == 2:
            amount = 16 * (1 + next(raw) % 9)
            steps.append(Step(f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%m], {amount};", False))
            bytes_due += amount
        elif kind in (3, 4) and bytes_due:
            amount = bytes_due if kind == 3 else 16
            steps.append(Step(f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%m], {amount};", False))
            bytes_due -= amount
        elif kind == 5:
            amount = 16 * (1 + next(raw) % 9)
            steps.append(Step(f"mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%m], {amount};", True))
            bytes_due, pending = bytes_due + amount, pending - 1
        else:
            if pending == 0:  # of a phase that waits for its bytes
                continue
            steps.append(Step(f"mbarrier.arrive.shared::cta.b64 %state, [%m], {n};", True))
            pending -= n
        if pending == 0 and bytes_due == 0:
            pending = expected
        if pending == 0:
            steps.append(Step(f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%m], {bytes_due};", False))
            pending, bytes_due = expected, 0
    return count, steps


def barrier_sequences() -> Iterator[Case]:
    for i in range(40):
        count, steps = random_sequence(f"{'d' if i % 2 else 'p'}{i}")
        yield Case(
            f"mbarrier sequence {i}",
            sequence_kernel(count, steps),
            lambda: b"",
            STEP_BYTES * (len(steps) + 1),
            block=32,
            shared=16,
            decode=without_states,
            keep=True,
            about=("sequence", count, steps),
        )


def waits() -> Iterator[Case]:
    """Every kind of wait, in four phases: before the arrival, after it with bytes due, and with none.

    A row: test_wait.parity of 0 and 1, try_wait.parity of 0 and 1.
    """
    look = ""
    for name, text in (("x", "test_wait"), ("y", "test_wait"), ("z", "try_wait"), ("u", "try_wait")):
        look += f"mbarrier.{text}.parity.shared::cta.b64 %q, [%m], {int(name in 'yu')}; selp.u32 %{name}, 1, 0, %q;\n"
    body, at = "setp.ne.u32 %p, %t, 0; @%p ret; mbarrier.init.shared::cta.b64 [%m], 1;\n", 0
    for _ in range(4):
        for operation in (
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%m], 64;",
            "mbarrier.arrive.shared::cta.b64 _, [%m];",
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%m], 64;",
        ):
            body += f"{operation}\n{look}st.global.v4.b32 [%out+{at}], {{%x, %y, %z, %u}};\n"
            at += 16
    yield Case("every kind of wait", kernel(body), lambda: b"", at, block=32, shared=16, keep=True, about=("waits",))


# --- clusters

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
SIZE = 1024


def cluster_kernel(size: int, first: str, second: str) -> str:
    """Thread 0 of each block runs `first` and waits for the block's barrier; after a cluster barrier, all run `second`.

    A block's result is its shared memory: SIZE bytes, poisoned at first but for 256 that come from the input.  Its
    barrier, at SIZE, expects as many bytes as the input says (at 4096 + 4 * block); with 0 it is not waited for.
    """
    return kernel(
        f"""
.reg .b32 %rank, %peer, %barrier, %remote, %tries, %expect, %a<4>; .reg .b64 %b<4>, %given; .reg .b16 %h; .reg .f32 %f;
mov.u32 %rank, %cluster_ctarank;
{poison_shared(str(SIZE), 128, "poison")}
bar.sync 0;
mad.wide.u32 %given, %block, 256, %in;
setp.lt.u32 %p, %t, 64; mad.wide.u32 %w, %t, 4, %given; mad.lo.u32 %x, %t, 4, %m;
@%p ld.global.b32 %y, [%w]; @%p st.shared.b32 [%x], %y;
mad.wide.u32 %w, %block, 4, %in; ld.global.b32 %expect, [%w+4096];
add.u32 %barrier, %m, {SIZE}; setp.eq.u32 %p, %t, 0;
@!%p bra ready;
mbarrier.init.shared::cta.b64 [%barrier], 1; fence.mbarrier_init.release.cluster;
setp.ne.u32 %q, %expect, 0;
@%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %expect;
ready: fence.proxy.async; {MEET}
@!%p bra all;
xor.b32 %peer, %rank, 1;
{first}
mov.u32 %tries, 0; setp.eq.u32 %q, %expect, 0; @%q bra all;
again: mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %q, [%barrier], 0;
add.u32 %tries, %tries, 1; setp.lt.and.u32 %q, %tries, 200000, !%q;
@%q bra again;
all: {MEET}
{second}
{MEET}
mad.lo.u32 %x, %block, {SIZE}, 0; cvt.u64.u32 %w1, %x; add.u64 %w1, %w1, %out;
{copy_out("%w1", str(SIZE), 128, "dump")}""",
        f".explicitcluster .reqnctapercluster {size}, 1, 1",
    )


def cluster_case(
    name: str, size: int, first: str = "", second: str = "", expect: tuple[int, ...] = (), hidden: slice = slice(0)
) -> Case:
    """hidden: words of each block's result that are the device's own affair."""

    def shown(result: bytes) -> bytes:
        words = np.frombuffer(result, "<u4").reshape(size, SIZE // 4).copy()
        words[:, hidden] = 0
        return words.tobytes()

    def given() -> bytes:
        values = random_bits("cluster b32", 512).astype("<u8").tobytes()
        return values + np.resize(np.array([*expect, *(0,) * (size - len(expect))], "<u4"), 16).tobytes()

    source = cluster_kernel(size, first, second)
    return Case(
        name,
        source,
        given,
        size * SIZE,
        grid=size,
        shared=SIZE + 16,
        decode=shown,
        keep=True,
        about=("cluster", expect),
    )


TO_PEER = "mapa.shared::cluster.u32 %x, %m, %peer; mapa.shared::cluster.u32 %remote, %barrier, %peer;\n"
ONLY_FIRST = "setp.ne.u32 %q, %rank, 0; @%q bra passed;\n"
ASYNC_REDUCTIONS = {
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("min", "max"), ("u32", "s32")),
    "add": ("u32", "s32", "u64"),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}


def clusters() -> Iterator[Case]:
    for size in (2, 4, 8):
        read = "\n".join(
            f"mapa.shared::cluster.u32 %x, %m, {i % size}; mad.lo.u32 %x, %t, 4, %x; ld.shared::cluster.b32 %y, [%x]; "
            f"setp.lt.u32 %q, %t, 16; mad.lo.u32 %z, %t, 4, %m; @%q st.shared.b32 [%z+{256 + 64 * i}], %y;"
            for i in range(8)
        )
        yield cluster_case(f"cluster of {size}: loads from each", size, "", read)
        write = (
            f"mov.u32 %peer, %rank; add.u32 %peer, %peer, 1; rem.u32 %peer, %peer, {size}; "
            "mapa.shared::cluster.u32 %x, %m, %peer; mad.lo.u32 %y, %t, 4, %x; mad.lo.u32 %z, %rank, 1000, %t; "
            "st.shared::cluster.b32 [%y+256], %z; "
            "atom.shared::cluster.add.u32 %z, [%x], 3; red.shared::cluster.max.u32 [%x+4], %t; "
            "getctarank.shared::cluster.u32 %y, %x; mad.lo.u32 %z, %t, 0, %m; @%p st.shared.b32 [%z+768], %y; "
        )
        yield cluster_case(f"cluster of {size}: stores and atomics to the next", size, "", write)
        spaces = (
            "cvta.shared.u64 %w, %w2; mov.u64 %w2, memory; cvta.shared.u64 %w, %w2; mapa.u64 %w3, %w, %peer;"
            "isspacep.shared %q, %w3; selp.u32 %x, 1, 0, %q; isspacep.shared::cluster %q, %w3; selp.u32 %y, 1, 0, %q;"
            "getctarank.u64 %z, %w3; ld.u32 %u, [%w3]; st.shared.v4.b32 [%m+512], {%x, %y, %z, %u};"
            "isspacep.shared %q, %w; selp.u32 %x, 1, 0, %q; isspacep.shared::cluster %q, %w; selp.u32 %y, 1, 0, %q;"
            "mapa.shared::cluster.u32 %z, %m, %rank; sub.u32 %z, %z, %m; mapa.shared::cluster.u32 %u, %m, %peer;"
            "sub.u32 %u, %u, %m; st.shared.v4.b32 [%m+528], {%x, %y, %z, %u};"
        ).replace("cvta.shared.u64 %w, %w2; mov", "mov", 1)
        yield cluster_case(f"cluster of {size}: addresses", size, spaces, hidden=slice(134, 136))
    for kind, width, vector in [
        *((k, 4, "") for k in ("b32", "u32", "s32", "f32")), *((k, 8, "") for k in ("b64", "u64", "s64", "f64")),
        ("b32", 8, ".v2"), ("b64", 16, ".v2"), ("f32", 8, ".v2"), ("b32", 16, ".v4"), ("u32", 16, ".v4"),
    ]:  # fmt: skip
        register = "%b" if kind[1:] == "64" else "%a"
        count = int(vector[2:] or 1)
        each = "b64" if kind[1:] == "64" else "b32"
        names = ", ".join(f"{register}{i}" for i in range(count))
        names = f"{{{names}}}" if vector else names
        text = f"ld.shared{vector}.{each} {names}, [%m];\n{ONLY_FIRST}{TO_PEER}"
        text += (
            f"st.async.shared::cluster.mbarrier::complete_tx::bytes{vector}.{kind} [%x+256], {names}, "
            f"[%remote];\npassed:"
        )
        yield cluster_case(f"st.async{vector}.{kind}", 2, text, "", (0, width))
    for operation, kinds in ASYNC_REDUCTIONS.items():
        for kind in kinds:
            width, register = (8, "%b") if kind == "u64" else (4, "%a")
            each = f"b{8 * width}"
            repeat = "".join(
                f"ld.shared.{each} {register}0, [%m+{16 * i}]; red.async.relaxed.cluster.shared::cluster.mbarrier"
                f"::complete_tx::bytes.{operation}.{kind} [%x+{16 * i}], {register}0, [%remote];\n"
                for i in range(8)
            )
            yield cluster_case(
                f"red.async.{operation}.{kind}", 2, f"{ONLY_FIRST}{TO_PEER}{repeat}passed:", "", (0, 8 * width)
            )
            bulk = (
                f"{ONLY_FIRST}{TO_PEER}cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                f".{operation}.{kind.replace('b32', 'b32')} [%x+64], [%m], 128, [%remote];\npassed:"
            )
            yield cluster_case(f"bulk reduce to a peer {operation} {kind}", 2, bulk, "", (0, 128))
    copy = (
        f"{ONLY_FIRST}{TO_PEER}cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        f"[%x+512], [%m+32], 96, "
        "[%remote];\npassed:"
    )
    yield cluster_case("bulk copy to a peer", 2, copy, "", (0, 96))
    arrive = (
        "mapa.shared::cluster.u32 %remote, %barrier, %peer; "
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%remote], 48;"
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%remote], 48;"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote];"
        "mov.u32 %tries, 0; wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%barrier], 0, 1000;"
        "add.u32 %tries, %tries, 1; setp.lt.and.u32 %q, %tries, 2000, !%q; @%q bra wait;"
        "ld.shared.b64 %b0, [%barrier]; mbarrier.test_wait.parity.shared::cta.b64 %q, [%barrier], 0; "
        "selp.u32 %x, 1, 0, %q;"
        "st.shared.b64 [%m+512], %b0; st.shared.b32 [%m+520], %x;"
    )
    yield cluster_case("arrivals at a peer's barrier", 2, arrive, hidden=slice(128, 130))


# --- instructions that must not change values


def unchanging() -> Iterator[Case]:
    values = [f"%v{i}" for i in range(16)]
    hold = "".join(f"mad.lo.u32 {v}, %t, {2 * i + 3}, {i};" for i, v in enumerate(values))
    show = "".join(f"st.global.b32 [%w1+{1024 * i}], {v};" for i, v in enumerate(values))
    more = "".join(f"mad.lo.u32 {v}, {v}, %t, {i};" for i, v in enumerate(values))
    declare = f".reg .b32 {', '.join(values)};"
    for lower, higher in ((24, 232), (40, 216), (64, 168), (104, 152)):
        body = (
            f"{declare} {hold} mad.wide.u32 %w1, %t, 4, %out; setp.lt.u32 %p, %t, 128; @%p bra few;\n"
            f"setmaxnreg.inc.sync.aligned.u32 {higher}; {more} bra.uni end;\n"
            f"few: setmaxnreg.dec.sync.aligned.u32 {lower};\nend: {show}"
        )
        yield Case(
            f"setmaxnreg {lower} {higher}",
            kernel(body, ".maxntid 256, 1, 1 .maxnreg 128"),
            lambda: b"",
            16384,
            block=256,
        )
    body = (
        f"{declare} {hold} griddepcontrol.wait; {more} griddepcontrol.launch_dependents; "
        f"mad.wide.u32 %w1, %t, 4, %out; {show}"
    )
    yield Case("griddepcontrol without a dependent", kernel(body), lambda: b"", 16384, block=256)


# --- tensormap.replace


def replacements() -> Iterator[Case]:
    fields: list[tuple[str, str, list[int]]] = [
        ("global_address", "b64", [0, 16, ADDRESS_NEW, 2**47 - 16, 2**56 - 16]),
        ("rank", "b32", [0, 1, 2, 3, 4]),
    ]
    fields += [(f"box_dim {i}", "b32", [1, 2, 64, 255, 256]) for i in range(5)]
    fields += [(f"global_dim {i}", "b32", [1, 2, 1000, 2**31, 2**32 - 1]) for i in range(5)]
    fields += [
        (f"global_stride {i}", "b64", [16, 4096, 2**20 + 16, 2**36 - 16, 2**36, 2**39 + 32, 2**40 - 16])
        for i in range(4)
    ]
    fields += [(f"element_stride {i}", "b32", list(range(1, 9))) for i in range(5)]
    for field, count in (("elemtype", 13), ("interleave_layout", 3), ("swizzle_mode", 4), ("fill_mode", 2)):
        fields += [(f"{field} = {i}", "b32", [i]) for i in range(count)]
    for base in ("2d", "5d", "im2col 4d"):
        for field, width, values in fields:
            for space in ("shared::cta", "global") if base == "5d" else ("shared::cta",):
                name, _, rest = field.partition(" ")
                register = "%w3" if width == "b64" else "%z"
                value = rest[2:] if rest.startswith("=") else register
                order = f"{rest}, " if rest and not rest.startswith("=") else ""
                place = "%m" if space[0] == "s" else "%w2"
                text = f"tensormap.replace.tile.{name}.{space}.b1024.{width} [{place}], {order}{value};"
                fill = "".join(
                    f"ld.param.b64 %w, [k_map+{8 * i}]; "
                    + (f"st.shared.b64 [%m+{8 * i}], %w; " if space[0] == "s" else f"st.global.b64 [%w2+{8 * i}], %w; ")
                    for i in range(16)
                )
                body = (
                    "setp.ne.u32 %p, %t, 0; @%p ret; mad.wide.u32 %w2, %block, 128, %out; "
                    "mad.wide.u32 %w1, %block, 8, %in;"
                    f"ld.global.b64 %w3, [%w1]; cvt.u32.u64 %z, %w3;\n{fill}\n{text}\n"
                )
                if space[0] == "s":
                    body += "".join(
                        f"ld.shared.b64 %w, [%m+{8 * i}]; st.global.b64 [%w2+{8 * i}], %w; " for i in range(16)
                    )

                def given(values: list[int] = values) -> bytes:
                    return struct.pack(f"<{len(values)}Q", *values)

                yield Case(
                    f"replace {base} {space} {field}",
                    kernel(body),
                    given,
                    128 * len(values),
                    grid=len(values),
                    block=32,
                    shared=128,
                    tensor_map=BASES[base],
                    keep=True,
                    about=("replace", BASES[base], name, rest, values),
                )


ADDRESS_NEW = 0x7E00ABCDEF00


# --- programmatic dependent launch


class Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_ubyte * 60))


class Configuration(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


@dataclass(frozen=True)
class DependentLaunch:
    """The first kernel lets the second start, sleeps 20 µs and writes; the second waits for it and adds 1."""

    name: str = "griddepcontrol with a dependent launch"
    keep: bool = True

    @property
    def source(self) -> str:
        entries = (
            "griddepcontrol.launch_dependents; mov.u32 %y, 0;\nwaits: nanosleep.u32 1000; add.u32 %y, %y, 1; "
            "setp.lt.u32 %p, %y, 20; @%p bra waits; mad.lo.u32 %y, %x, 7, 5; st.global.b32 [%w], %y;",
            "griddepcontrol.wait; ld.global.b32 %y, [%w]; add.u32 %y, %y, 1; st.global.b32 [%w+4096], %y;",
        )
        return HEADER + "".join(
            f".visible .entry {name}(.param .u64 p) {{ .reg .b64 %w; .reg .b32 %t, %x, %y; .reg .pred %p; "
            "ld.param.u64 %w, [p];\n"
            "mov.u32 %t, %tid.x; mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 128, %t; mad.wide.u32 %w, %x, 4, %w;\n"
            f"{body}\nret; }}\n"
            for name, body in zip(("first", "second"), entries, strict=True)
        )

    @property
    def digest(self) -> str:
        import hashlib

        return hashlib.sha256(self.source.encode()).hexdigest()[:12]

    def run(self) -> bytes:
        import pycuda.driver as cuda

        module = Module(self.source)
        target = cuda.mem_alloc(8192)
        cuda.memcpy_htod(target, np.full(8192, 0xCD, np.uint8))
        address = ctypes.c_uint64(int(target))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        stream = cuda.Stream()
        allow = Attribute(6, 0, 1)  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        for i, name in enumerate(("first", "second")):
            how = Configuration(8, 1, 1, 128, 1, 1, 0, stream.handle, ctypes.pointer(allow), i)
            code = library().cuLaunchKernelEx(ctypes.byref(how), module.function(name), arguments, None)
            check(code, "cuLaunchKernelEx")
        stream.synchronize()
        result = np.empty(8192, np.uint8)
        cuda.memcpy_dtoh(result, target)
        module.unload()
        return result.tobytes()


def cluster_cases() -> list:
    made = [barrier_sequences(), clusters(), unchanging(), replacements()]
    return [*(case for cases in made for case in cases), DependentLaunch()]
