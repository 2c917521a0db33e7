"""What one recorded kernel launch is: a PTX kernel, its inputs, and how its result is kept.

Every kernel is `k(out, in, map)`: two addresses and, for tensor copies, a 128-byte tensor map passed by value.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HEADER = ".version 8.7\n.target sm_90a\n.address_size 64\n"
PARAMETERS = ".param .u64 k_out, .param .u64 k_in, .param .align 64 .b8 k_map[128]"
POISON = 0xCD
KEEP = 4096  # bytes: longer results are kept as a digest and a sample
SAMPLE = 32  # words of 32 bits of a longer result


def kernel(body: str, directives: str = "") -> str:
    """A module with the entry `k`; `memory` is its dynamic shared memory, at a multiple of 1024."""
    return (
        f"{HEADER}.extern .shared .align 1024 .b8 memory[];\n"
        f".visible .entry k({PARAMETERS}) {directives}\n{{\n"
        ".reg .b64 %out, %in, %w, %w1, %w2, %w3; .reg .b32 %t, %block, %m, %x, %y, %z, %u, %v; .reg .pred %p, %q;\n"
        "ld.param.u64 %out, [k_out]; ld.param.u64 %in, [k_in]; mov.u32 %t, %tid.x; mov.u32 %block, %ctaid.x;\n"
        f"mov.u32 %m, memory;\n{body}\nret;\n}}\n"
    )


def copy_in(source: str, size: str, threads: int, label: str, to: str = "%m") -> str:
    """`size` bytes (a register or a number, a multiple of 16) from global `source` to the shared address `to`."""
    return (
        f"{{ .reg .b32 %i, %j, %r<4>; .reg .b64 %g; .reg .pred %more; shl.b32 %i, %t, 4;\n"
        f"{label}: setp.lt.u32 %more, %i, {size}; @!%more bra {label}_end;\n"
        f"cvt.u64.u32 %g, %i; add.u64 %g, %g, {source}; add.u32 %j, %i, {to};\n"
        "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%g]; st.shared.v4.b32 [%j], {%r0, %r1, %r2, %r3};\n"
        f"add.u32 %i, %i, {16 * threads}; bra {label};\n{label}_end: }}"
    )


def copy_out(target: str, size: str, threads: int, label: str, source: str = "%m") -> str:
    return (
        f"{{ .reg .b32 %i, %j, %r<4>; .reg .b64 %g; .reg .pred %more; shl.b32 %i, %t, 4;\n"
        f"{label}: setp.lt.u32 %more, %i, {size}; @!%more bra {label}_end;\n"
        f"cvt.u64.u32 %g, %i; add.u64 %g, %g, {target}; add.u32 %j, %i, {source};\n"
        "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%j]; st.global.v4.b32 [%g], {%r0, %r1, %r2, %r3};\n"
        f"add.u32 %i, %i, {16 * threads}; bra {label};\n{label}_end: }}"
    )


def poison_shared(size: str, threads: int, label: str) -> str:
    return (
        f"{{ .reg .b32 %i, %j; .reg .pred %more; shl.b32 %i, %t, 2;\n"
        f"{label}: setp.lt.u32 %more, %i, {size}; @!%more bra {label}_end;\n"
        "add.u32 %j, %i, %m; st.shared.b32 [%j], 0xCDCDCDCD;\n"
        f"add.u32 %i, %i, {4 * threads}; bra {label};\n{label}_end: }}"
    )


@dataclass(frozen=True)
class Case:
    """`given` makes the bytes at `in`; the result is `out_bytes` at `out`, then the tensor, if the kernel writes it.

    tensor: makes the bytes that the map describes.  tensor_map: its arguments, an object with `encode(address)`.
    cluster: blocks that form a cluster; the kernel says so itself.  decode: turns the result into a shorter one.
    """

    name: str
    source: str
    given: Callable[[], bytes]
    out_bytes: int
    grid: int = 1
    block: int = 128
    shared: int = 0
    tensor_map: Any = None
    tensor: Callable[[], bytes] | None = None
    writes_tensor: bool = False
    decode: Callable[[bytes], bytes] | None = None
    keep: bool = False  # the whole result, however long
    about: Any = field(default=None, compare=False)  # what the reference needs to know

    @property
    def digest(self) -> str:
        """Changes with anything that changes the result."""
        made = hashlib.sha256(repr((self.source, self.out_bytes, self.grid, self.block, self.shared)).encode())
        made.update(self.given())
        made.update(repr(self.tensor_map).encode() + (self.tensor() if self.tensor else b""))
        return made.hexdigest()[:12]


def sample_of(result: bytes) -> bytes:
    words = np.frombuffer(result[: len(result) // 4 * 4], "<u4")
    return words[np.linspace(0, len(words) - 1, SAMPLE).astype(int)].tobytes()


def kept_of(result: bytes, keep: bool = False) -> tuple[str, int, bytes]:
    """Digest of the result, its length, and the bytes that are stored: all of it, or a sample."""
    stored = result if keep or len(result) <= KEEP else sample_of(result)
    return hashlib.sha256(result).hexdigest()[:16], len(result), stored


def write_archive(out: Path, header: dict[str, Any], entries: Sequence[tuple[str, str, bytes, bool]]) -> None:
    """Entries are name, digest of the case, result, and whether it is kept whole.  Written atomically."""
    rows, payload = [], []
    for name, case, result, keep in entries:
        digest, length, stored = kept_of(result, keep)
        rows.append([name, case, digest, length, len(stored)])
        payload.append(stored)
    header = header | {"results": rows}
    packed = lzma.compress(b"".join(payload), preset=9 | lzma.PRESET_EXTREME)
    described = lzma.compress(json.dumps(header).encode(), preset=9 | lzma.PRESET_EXTREME)
    temporary = out.with_name(f"{out.name}.{os.getpid()}.tmp.npz")
    np.savez(temporary, header=np.frombuffer(described, np.uint8), results=np.frombuffer(packed, np.uint8))
    os.replace(temporary, out)


@dataclass(frozen=True)
class Kept:
    """A result in an archive: `stored` is all of it, or a sample of 32-bit words."""

    case: str
    digest: str
    length: int
    stored: bytes

    @property
    def whole(self) -> bool:
        return len(self.stored) == self.length

    def difference(self, result: bytes) -> str:
        """Empty if `result` is what was recorded; else one line that says where the first difference is."""
        if hashlib.sha256(result).hexdigest()[:16] == self.digest:
            return ""
        if len(result) != self.length:
            return f"{len(result)} bytes, want {self.length}"
        mine = result if self.whole else sample_of(result)
        a, b = np.frombuffer(mine, np.uint8), np.frombuffer(self.stored, np.uint8)
        wrong = np.flatnonzero(a != b)
        if not len(wrong):
            return "differs outside the stored sample"
        at = int(wrong[0]) // 4 * 4
        what = "byte" if self.whole else "byte of the sample"
        return (
            f"{len(np.unique(wrong // 4))} of {-(-len(a) // 4)} words differ, first at {what} {at}: "
            f"{mine[at : at + 4][::-1].hex()}, want {self.stored[at : at + 4][::-1].hex()}"
        )


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, Kept]]:
    with np.load(path) as file:
        header = json.loads(lzma.decompress(file["header"].tobytes()))
        payload = lzma.decompress(file["results"].tobytes())
    results, at = {}, 0
    for name, case, digest, length, stored in header.pop("results"):
        results[name] = Kept(case, digest, length, payload[at : at + stored])
        at += stored
    return header, results


def blob(parts: Iterable[np.ndarray | bytes], align: int = 16) -> tuple[bytes, list[int]]:
    """Parts one behind the other, each at a multiple of `align`, equal ones once; and their offsets."""
    data, offsets, seen = bytearray(), [], {}
    for part in parts:
        raw = part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes()
        if raw not in seen:
            data += bytes(-len(data) % align)
            seen[raw] = len(data)
            data += raw
        offsets.append(seen[raw])
    return bytes(data), offsets
