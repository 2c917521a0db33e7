"""Copies between host and device: pageable and pinned memory, both directions, 4 KiB to 512 MiB.

python copy_bandwidth.py   check every kind of copy; on a GPU also time them, with torch's pinned copy in the same run
"""

import ctypes
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
if GPU:
    try:
        import torch
    except ImportError:
        torch = None

KIB, MIB = 2**10, 2**20
BIG = 256 * MIB  # where two kinds of memory are compared
SIZES = [2**k for k in range(12, 30)]  # 4 KiB to 512 MiB
rng = np.random.default_rng(20261122)
invert = wb.module("memory-management/transfer.cu").get_function("invert")


pool = np.frombuffer(rng.bytes((513 if GPU else 2) * MIB), np.uint32)


def words(nbytes: int) -> np.ndarray:
    """Random bits. Two calls give different ones."""
    start = int(rng.integers(pool.size - nbytes // 4))
    return pool[start : start + nbytes // 4]


# --8<-- [start:kinds]
def pageable(nbytes: int) -> np.ndarray:
    return np.empty(nbytes // 4, np.uint32)


def pinned(nbytes: int) -> np.ndarray:
    return cuda.pagelocked_empty(nbytes // 4, np.uint32)


def write_combined(nbytes: int) -> np.ndarray:
    return cuda.pagelocked_empty(nbytes // 4, np.uint32, mem_flags=cuda.host_alloc_flags.WRITECOMBINED)


KINDS = {"pageable": pageable, "pinned": pinned, "write_combined": write_combined}


def up(kind: str, device: cuda.DeviceAllocation, host: np.ndarray) -> None:
    """To the device; only enqueued if the host's memory allows that."""
    cuda.memcpy_htod(device, host) if kind == "pageable" else cuda.memcpy_htod_async(device, host)


def down(kind: str, host: np.ndarray, device: cuda.DeviceAllocation) -> None:
    """To the host."""
    cuda.memcpy_dtoh(host, device) if kind == "pageable" else cuda.memcpy_dtoh_async(host, device)


# --8<-- [end:kinds]


def same(what: str, got: np.ndarray, want: np.ndarray) -> None:
    """Every bit."""
    if not np.array_equal(got, want):
        wb.check(got, want, what=what)


def check_round_trip(kind: str, nbytes: int) -> None:
    """Up, through a kernel, and down again: what comes back is what went up, with every bit turned over."""
    data, host, back = words(nbytes), KINDS[kind](nbytes), KINDS[kind](nbytes)
    host[:] = data
    back[:] = data
    device = cuda.mem_alloc(nbytes)
    cuda.memset_d32(device, 0xFFFFFFFF, nbytes // 4)
    up(kind, device, host)
    invert(device, np.int64(data.size), block=(256, 1, 1), grid=(64, 1))
    down(kind, back, device)
    cuda.Context.synchronize()
    same(f"{kind}, {nbytes} bytes", back, ~data)
    device.free()


# --- Times -----------------------------------------------------------------------------------------------------------


# --8<-- [start:stopwatch]
def stopwatch(copy: Callable[[int], object], repeats: int, warmup: int = 3) -> wb.Timing:
    """The host's time from the call until the data have arrived."""
    seconds = []
    for i in range(warmup + repeats):
        cuda.Context.synchronize()
        start = time.perf_counter()
        copy(i)
        cuda.Context.synchronize()
        seconds.append(time.perf_counter() - start)
    low, median, high = (float(x) for x in np.percentile(seconds[warmup:], [10, 50, 90]))
    return wb.Timing(median, low, high, repeats)


# --8<-- [end:stopwatch]


class Link:
    """Two buffers of the largest size on either side, so that what a copy leaves was not there before."""

    def __init__(self, kind: str, nbytes: int) -> None:
        self.kind = kind
        self.data = [words(nbytes) for _ in range(2)]
        self.host = [KINDS[kind](nbytes) for _ in range(2)]
        for host, data in zip(self.host, self.data, strict=True):
            host[:] = data
        self.device = [cuda.to_device(data) for data in self.data]
        self.here, self.there = KINDS[kind](nbytes), cuda.mem_alloc(nbytes)
        self.here[:] = 0

    def up(self, nbytes: int, i: int) -> None:
        up(self.kind, self.there, self.host[i % 2][: nbytes // 4])

    def down(self, nbytes: int, i: int) -> None:
        down(self.kind, self.here[: nbytes // 4], self.device[i % 2])

    def check(self, way: str, nbytes: int, i: int) -> None:
        cuda.Context.synchronize()
        got = self.here[: nbytes // 4]
        if way == "up":
            got = np.empty(nbytes // 4, np.uint32)
            cuda.memcpy_dtoh(got, self.there)
        same(f"{self.kind}, {way}, {nbytes} bytes", got, self.data[i % 2][: nbytes // 4])

    def time(self, way: str, nbytes: int) -> wb.Timing:
        repeats = 50 if nbytes <= MIB else 20 if nbytes <= 32 * MIB else 9
        t = stopwatch(partial(getattr(self, way), nbytes), repeats)
        self.check(way, nbytes, 3 + repeats - 1)
        return t


def curves() -> dict[str, dict[int, wb.Timing]]:
    """Every kind, way and size."""
    times = {}
    for kind in ("pageable", "pinned"):
        link = Link(kind, max(SIZES))
        for way, name in (("up", "h2d"), ("down", "d2h")):
            of_size = times[f"{name}.{kind}"] = {nbytes: link.time(way, nbytes) for nbytes in SIZES}
            rate, low, high = ([n / getattr(t, w) for n, t in of_size.items()] for w in ("median", "high", "low"))
            wb.series(f"{name}.{kind}", SIZES, rate, x_unit="B", unit="B/s", low=low, high=high)
            wb.timing(f"{kind}_{name}", of_size[BIG], nbytes=BIG)
        if kind == "pageable":
            cached_or_not(link)
    wb.timing("small", times["h2d.pinned"][4 * KIB])
    return times


def cached_or_not(link: Link) -> None:
    """8 MiB to the device: the same two pieces in turn, and always another of 64, which no CPU cache holds together."""
    nbytes = 8 * MIB
    pieces = max(SIZES) // nbytes

    def elsewhere(i: int) -> None:
        at = i % pieces * nbytes // 4
        cuda.memcpy_htod(link.there, link.host[0][at : at + nbytes // 4])

    for name, copy in (("same", partial(link.up, nbytes)), ("other", elsewhere)):
        t = stopwatch(copy, 40)
        wb.timing(f"pageable_{name}", t, nbytes=nbytes)
        print(f"8 MiB of pageable memory, {name:6} {nbytes / t.median / 1e9:8.2f} GB/s")
    got, at = np.empty(nbytes // 4, np.uint32), 42 % pieces * nbytes // 4
    cuda.memcpy_dtoh(got, link.there)
    same("8 MiB from elsewhere", got, link.data[0][at : at + nbytes // 4])


def against_torch() -> None:
    """256 MiB of pinned memory by events, ours and torch's."""
    link = Link("pinned", BIG)
    ways: dict[str, tuple[Callable[[int], object], Callable[[int], object]]] = {}
    for way, name in (("up", "h2d"), ("down", "d2h")):
        ways[f"ours_{name}"] = partial(getattr(link, way), BIG), partial(link.check, way, BIG)
    if torch is not None:
        host = [torch.from_numpy(data.view(np.int32)).pin_memory() for data in link.data]
        device = [h.to("cuda") for h in host]
        here, there = torch.zeros_like(host[0]).pin_memory(), torch.zeros_like(device[0])

        def check(i: int, get: Callable[[], np.ndarray]) -> None:
            torch.cuda.synchronize()
            same("torch", get().view(np.uint32), link.data[i % 2])

        ways["torch_h2d"] = (
            lambda i: there.copy_(host[i % 2], non_blocking=True),
            lambda i: check(i, lambda: there.cpu().numpy()),
        )
        ways["torch_d2h"] = (
            lambda i: here.copy_(device[i % 2], non_blocking=True),
            lambda i: check(i, lambda: here.numpy()),
        )
    print()
    for name, (launch, check_one) in ways.items():
        t = wb.time(launch, repeats=15, warmup=2, check=check_one)
        wb.timing(name, t, nbytes=BIG)
        print(f"{name:12}{BIG / t.median / 1e9:8.2f} GB/s, by events")


def many_or_one() -> None:
    """4 MiB in one copy, and in 1024 copies of 4 KiB."""
    nbytes, parts = 4 * MIB, 1024
    link = Link("pinned", nbytes)
    size = nbytes // parts
    pieces = [[host[k * size // 4 : (k + 1) * size // 4] for k in range(parts)] for host in link.host]
    addresses = [int(link.there) + k * size for k in range(parts)]

    def many(i: int) -> None:
        for address, piece in zip(addresses, pieces[i % 2], strict=True):
            cuda.memcpy_htod_async(address, piece)

    print()
    for name, copy in (("one", partial(link.up, nbytes)), ("many", many)):
        t = stopwatch(copy, 20)
        link.check("up", nbytes, 22)
        wb.timing(name, t)
        print(f"4 MiB, {name:5}{t.median * 1e6:10.1f} µs")


def host_side() -> None:
    """What the host's part costs: to pin memory, to copy in memory, to read what is write-combined."""
    source, target = words(BIG), pageable(BIG)
    target[:] = 0

    def median(action: Callable[[], object], undo: Callable[[], object], repeats: int = 5) -> tuple[wb.Timing, ...]:
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            action()
            middle = time.perf_counter()
            undo()
            seconds.append((middle - start, time.perf_counter() - middle))
        percentiles = np.percentile(seconds, [10, 50, 90], axis=0).T.tolist()
        return tuple(wb.Timing(middle, low, high, repeats) for low, middle, high in percentiles)

    kept: list = []
    # Registered through the driver itself: PyCUDA 2026.1 gives back a reference too many there.
    address = ctypes.c_void_p(target.ctypes.data)
    driver = ctypes.CDLL("libcuda.so.1")

    def ask(name: str, *arguments: object) -> None:
        if status := getattr(driver, name)(*arguments):
            raise RuntimeError(f"{name}: error {status}")

    actions = {
        "host_copy": (lambda: np.copyto(target, source), lambda: None),
        "pin": (lambda: kept.append(cuda.pagelocked_empty(BIG // 4, np.uint32)), kept.clear),
        "register": (
            lambda: ask("cuMemHostRegister_v2", address, ctypes.c_size_t(BIG), ctypes.c_uint(0)),
            lambda: ask("cuMemHostUnregister", address),
        ),
    }
    print()
    for name, (action, undo) in actions.items():
        t, undone = median(action, undo)
        wb.timing(name, t, nbytes=BIG)
        if name != "host_copy":
            wb.timing(f"un{name}", undone)
        print(f"256 MiB, {name:10}{t.median * 1e3:9.2f} ms, and to undo it {undone.median * 1e3:.2f} ms")
    same("copy in the host's memory", target, source)
    small = 16 * MIB
    for kind in ("pinned", "write_combined"):
        link = Link(kind, 64 * MIB)
        wb.timing(f"{kind}_up", link.time("up", 64 * MIB), nbytes=64 * MIB)
        part, want = link.host[0][: small // 4], int(link.data[0][: small // 4].sum(dtype=np.uint64))
        t, _ = median(lambda part=part, want=want: wb.check(int(part.sum(dtype=np.uint64)), want), lambda: None, 3)
        wb.timing(f"{kind}_read", t, nbytes=small)
        print(f"16 MiB, {kind}: the host reads at {small / t.median / 1e9:.2f} GB/s")


def host_said() -> str:
    """Processors, model and whether the system says that it is a virtual machine; how large its pages may be."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): text.strip() for key, text in facts.items()}
    virtual = "a virtual machine" if "hypervisor" in facts.get("flags", "").split() else "no virtual machine"
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    pages = re.search(r"\[(\w+)]", huge.read_text("utf-8")) if huge.exists() else None
    model, allowed = facts.get("model name", "an unnamed CPU"), pages[1] if pages else "unknown"
    return f"{os.cpu_count()} processors, {model}, {virtual}; transparent huge pages: {allowed}"


def main() -> None:
    for nbytes in (4, 4 * 31, 4000, 4 * (2**18 + 7)):
        for kind in KINDS:
            check_round_trip(kind, nbytes)
        print(f"{nbytes:>9,} bytes up, through a kernel and down: every bit right, {', '.join(KINDS)}")
    if GPU:
        wb.needs(memory=4 * 2**30)
        print(f"memory: the host's, {host_said()}")
        times = curves()
        names = list(times)
        print("\n" + f"{'bytes':>12}" + "".join(f"{name:>14}" for name in names) + f"{'GB/s':>8}")
        for nbytes in SIZES:
            print(f"{nbytes:12,}" + "".join(f"{nbytes / times[name][nbytes].median / 1e9:14.2f}" for name in names))
        against_torch()
        many_or_one()
        host_side()
    else:
        print("no GPU: nothing is timed")


if __name__ == "__main__":
    main()
