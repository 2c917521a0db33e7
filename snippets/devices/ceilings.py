"""What this device can do at most: memory, caches, arithmetic, tensor cores, the link to the host, a launch.

python ceilings.py             check every kernel at awkward sizes; on a GPU also measure (4 GiB, half a minute)
python ceilings.py --profile   launch each chain of arithmetic once, for a profiler
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

STEPS, UNROLL = 32, 4  # as in ceilings.cu
LAUNCHES = 256  # in a row; the driver queues about a thousand
GPU = wb.is_gpu()

wb.needs("8.0")  # mma.sync of 16 × 8 × 16
module = wb.module("devices/ceilings.cu", CHAINS=12)
module_eight = wb.module("devices/ceilings.cu", CHAINS=8)
device = cuda.Context.get_device()
sms = device.multiprocessor_count
rng = np.random.default_rng(20261122)
pool = np.frombuffer(rng.bytes(4 * ((2**28 if GPU else 2**17) + 2**12)), np.uint32)


@dataclass(frozen=True)
class Probe:
    """A launch, how to spoil its output before it, how to check it after, and how much it does."""

    launch: Callable[[int], object]
    poison: Callable[[int], object]
    check: Callable[[int], object]
    work: int  # bytes or operations


def once(probe: Probe) -> None:
    probe.poison(0)
    probe.launch(0)
    probe.check(0)


def words(n: int) -> np.ndarray:
    """Random bits, since memory and links may treat zeros more kindly. Two calls give different ones."""
    start = int(rng.integers(pool.size - n))
    return pool[start : start + n]


def spoil(buffer: cuda.DeviceAllocation, n: int) -> None:
    """All bits one: NaN as a float."""
    cuda.memset_d32_async(buffer, 0xFFFFFFFF, n)


def same(what: str, buffer: cuda.DeviceAllocation, want: np.ndarray) -> None:
    """Every bit as in the reference."""
    got = np.empty(want.nbytes // 4, np.uint32)
    cuda.memcpy_dtoh(got, buffer)
    bits = want.reshape(-1).view(np.uint32)
    if not np.array_equal(got, bits):
        wb.check(got, bits, what=what)


# --- Memory ----------------------------------------------------------------------------------------------------------


def copying(way: str, packs: int) -> Probe:
    """Copy 16-byte packs by our kernel or by the driver's copy. Two sources take turns."""
    sources = [words(4 * packs) for _ in range(2)]
    buffers, target = [cuda.to_device(s) for s in sources], cuda.mem_alloc(16 * packs)
    kernel, grid = module.get_function("copy"), (-(-packs // (256 * UNROLL)), 1)

    def launch(i: int) -> None:
        if way == "kernel":
            kernel(buffers[i % 2], target, np.int64(packs), block=(256, 1, 1), grid=grid)
        else:
            cuda.memcpy_dtod_async(target, buffers[i % 2], 16 * packs)

    return Probe(
        launch,
        lambda i: spoil(target, 4 * packs),
        lambda i: same(f"copy by {way}", target, sources[i % 2]),
        2 * 16 * packs,
    )


def reading(packs: int, rounds: int, blocks: int) -> Probe:
    """Add up all words, `rounds` times over. Two inputs take turns."""
    kernel, threads = module.get_function("read"), 512
    sources = [words(4 * packs) for _ in range(2)]
    buffers, sums = [cuda.to_device(s) for s in sources], cuda.mem_alloc(4 * blocks * threads)
    totals = [int(s.sum(dtype=np.uint64)) * rounds % 2**32 for s in sources]

    def launch(i: int) -> None:
        kernel(buffers[i % 2], sums, np.int64(packs), np.int32(rounds), block=(threads, 1, 1), grid=(blocks, 1))

    def check(i: int) -> None:
        got = np.empty(blocks * threads, np.uint32)
        cuda.memcpy_dtoh(got, sums)
        wb.check(int(got.sum(dtype=np.uint64)) % 2**32, totals[i % 2], what=f"sum of {packs} packs")

    return Probe(launch, lambda i: spoil(sums, blocks * threads), check, 16 * packs * rounds)


def writing(packs: int) -> Probe:
    kernel, target = module.get_function("write"), cuda.mem_alloc(16 * packs)

    def launch(i: int) -> None:
        grid = (-(-packs // (256 * UNROLL)), 1)
        kernel(target, np.int64(packs), np.uint32(i), block=(256, 1, 1), grid=grid)

    def check(i: int) -> None:
        h = np.arange(packs, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(i)
        same("write", target, np.stack([h, h ^ np.uint32(0x55555555), ~h, h + np.uint32(i)], axis=1))

    return Probe(launch, lambda i: spoil(target, 4 * packs), check, 16 * packs)


def sharing(rounds: int, blocks: int, threads: int) -> Probe:
    """Each thread reads eight packs of shared memory a round and adds up their words."""
    kernel = module.get_function("shared_read")
    source = words(4 * (threads + 7 * 32)).reshape(-1, 4)
    data, sums = cuda.to_device(source), cuda.mem_alloc(4 * blocks * threads)
    packs = source.sum(axis=1, dtype=np.uint32)
    of_thread = sum(packs[32 * k : 32 * k + threads] for k in range(8)) * np.uint32(rounds)

    def launch(i: int) -> None:
        kernel(data, sums, np.int32(rounds), block=(threads, 1, 1), grid=(blocks, 1))

    return Probe(
        launch,
        lambda i: spoil(sums, blocks * threads),
        lambda i: same("shared_read", sums, np.tile(of_thread, blocks)),
        blocks * threads * rounds * 8 * 16,
    )


# --- Arithmetic ------------------------------------------------------------------------------------------------------


def two_sum(a: np.ndarray, b: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """a + b rounded, and what the rounding cut off."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def to_odd(s: np.ndarray, error: np.ndarray) -> np.ndarray:
    """s + error, cut off, with the last bit set where anything was: rounding once more is then no second rounding."""
    even = (s.view(np.int64) & 1) == 0
    return np.where((error != 0) & even, np.nextafter(s, np.copysign(np.inf, error)), s)


def fused(x: np.ndarray, c: float) -> np.ndarray:
    """x * x + c rounded once, as an FMA does, by plain float64 (after Boldo and Melquiond, 2008)."""
    if x.dtype == np.float16:
        return (x.astype(np.float64) ** 2 + c).astype(np.float16)  # 22 and 6 bits: exact before the last rounding
    if x.dtype == np.float32:
        return to_odd(*two_sum(x.astype(np.float64) ** 2, c)).astype(np.float32)
    g = 134217729.0 * x  # 2^27 + 1 splits x in two halves whose products are exact
    high = g - (g - x)
    low = x - high
    p = x * x
    cut = ((high * high - p) + 2.0 * high * low) + low * low
    t, t_cut = two_sum(cut, c)
    v, v_cut = two_sum(p, t)
    return v + to_odd(*two_sum(t_cut, v_cut))


KINDS = {  # element type, lanes of one chain, operations of one step of one lane
    "fma32": (np.float32, 1, 2),
    "fma64": (np.float64, 1, 2),
    "fma16": (np.float16, 2, 2),
    "imad": (np.uint32, 1, 1),
}


def chaining(kind: str, rounds: int, blocks: int, threads: int, chains: int = 12) -> Probe:
    """Chains of x * x + c, or of x * a + c in integers; every end of every chain is checked to the bit."""
    dtype, lanes, operations = KINDS[kind]
    kernel, n = (module if chains == 12 else module_eight).get_function(kind), chains * threads * lanes
    a, c = (1664525, 1013904223) if kind == "imad" else (0.0, -1.90625)
    start = words(n) if kind == "imad" else rng.uniform(-1, 1, n).astype(dtype)
    scalars = [np.full(lanes, scalar, dtype) for scalar in (a, c)]
    scalars = [s.view(np.uint32)[0] if lanes == 2 else s[0] for s in scalars]
    size = blocks * n * start.itemsize
    data, out = cuda.to_device(start), cuda.mem_alloc(size)

    @cache
    def ends() -> np.ndarray:
        x = start
        for _ in range(rounds * STEPS):
            x = x * np.uint32(a) + np.uint32(c) if kind == "imad" else fused(x, c)
        return np.tile(x, blocks)

    def launch(i: int) -> None:
        kernel(data, out, *scalars, np.int32(rounds), block=(threads, 1, 1), grid=(blocks, 1))

    return Probe(
        launch,
        lambda i: spoil(out, size // 4),
        lambda i: same(kind, out, ends()),
        blocks * n * rounds * STEPS * operations,
    )


def tensoring(rounds: int, blocks: int, warps: int) -> Probe:
    """Each warp adds A · B to its 32 × 32 tile, `rounds` times, in small integers: every sum is exact."""
    a, b = (rng.integers(-8, 8, (warps, 32, 16)).astype(np.float16) for _ in range(2))
    product = np.einsum("wik,wjk->wij", a.astype(np.int64), b.astype(np.int64)) * rounds
    want = np.tile(product.astype(np.float32), (blocks, 1, 1, 1))
    rows, columns, out = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(want.nbytes)
    kernel = module.get_function("mma16")
    return Probe(
        lambda i: kernel(rows, columns, out, np.int32(rounds), block=(32 * warps, 1, 1), grid=(blocks, 1)),
        lambda i: spoil(out, want.size),
        lambda i: same("mma16", out, want),
        blocks * warps * rounds * 2 * 32 * 32 * 16,
    )


# --- The host --------------------------------------------------------------------------------------------------------


def linking(ways: tuple[str, ...], nbytes: int, pinned: bool = True) -> Probe:
    """Copies between host and device: up, down, or both at once in two streams."""
    source = words(nbytes // 4)
    host = {way: cuda.pagelocked_empty(source.shape, np.uint32) if pinned else source.copy() for way in ways}
    here = {way: cuda.to_device(source) for way in ways}
    ones = cuda.mem_alloc(nbytes)
    spoil(ones, nbytes // 4)
    streams = {way: cuda.Stream() if len(ways) > 1 else None for way in ways}  # these wait for the default stream
    if "up" in ways:
        host["up"][:] = source

    def launch(i: int) -> None:
        if "up" in ways and pinned:
            cuda.memcpy_htod_async(here["up"], host["up"], streams["up"])
        elif "up" in ways:
            cuda.memcpy_htod(here["up"], host["up"])
        if "down" in ways:
            cuda.memcpy_dtoh_async(host["down"], here["down"], streams["down"])

    def poison(i: int) -> None:
        if "up" in ways:
            spoil(here["up"], nbytes // 4)
        if "down" in ways:
            cuda.memcpy_dtoh_async(host["down"], ones)

    def check(i: int) -> None:
        cuda.Context.synchronize()
        if "up" in ways:
            same("copy to the device", here["up"], source)
        if "down" in ways and not np.array_equal(host["down"], source):
            wb.check(host["down"], source, what="copy to the host")

    return Probe(launch, poison, check, nbytes * len(ways))


nothing = module.get_function("nothing")
nothing.prepare("P")


def launching(count: int) -> Probe:
    """`count` launches in a row. The timed ones do nothing; those of the check count themselves."""
    counter, wait = cuda.mem_alloc(4), module.get_function("wait")

    def launch(i: int, address: int = 0) -> None:
        for _ in range(count):
            nothing.prepared_call((1, 1), (32, 1, 1), address)

    def poison(i: int) -> None:
        if GPU:  # keep the device waiting until the host has enqueued them all
            wait(np.uint64(count * 15_000), block=(1, 1, 1), grid=(1, 1))

    def check(i: int) -> None:
        cuda.memset_d32(counter, 0, 1)
        launch(i, int(counter))
        same("launches", counter, np.array([32 * count], np.uint32))

    return Probe(launch, poison, check, count)


# --- Checks and measurements -----------------------------------------------------------------------------------------


def check_all() -> None:
    for packs in (1, 31, 1023, 2**14 + 7):
        once(copying("kernel", packs))
        once(copying("driver", packs))
        once(reading(packs, 1, blocks=3))
        once(writing(packs))
        once(reading(packs, 5, blocks=2))
        print(f"copy, read, write of {16 * packs:,} bytes: every word right")
    for threads, rounds in ((32, 3), (96, 5), (1024, 1)):
        once(sharing(rounds, blocks=2, threads=threads))
    print("shared_read: every sum right")
    for kind, (dtype, _, _) in KINDS.items():
        for threads, rounds, chains in ((1, 1, 12), (33, 2, 8), (96, 3, 12)):
            once(chaining(kind, rounds, 2, threads, chains))
        print(f"{kind}: chains of {3 * STEPS} steps in {np.dtype(dtype).name}, every bit right")
    for warps, rounds in ((1, 1), (3, 5)):
        once(tensoring(rounds, blocks=2, warps=warps))
    print("mma16: every sum exact")
    for ways in (("up",), ("down",), ("up", "down")):
        once(linking(ways, 4 * 12_345))
    once(linking(("up",), 4 * 12_345, pinned=False))
    print("copies to the device, to the host and both at once: every word right")
    once(launching(17))
    print("17 launches: each counted itself")


def measure(name: str, probe: Probe, unit: str, repeats: int = 50) -> wb.Timing:
    """Time it, record it and print a line."""
    t = wb.time(probe.launch, repeats=repeats, poison=probe.poison, check=probe.check)
    wb.timing(name, t, probe.work if unit == "B/s" else None, probe.work if unit == "flop/s" else None)
    if unit == "1/s":
        wb.value(f"{name}.rate", probe.work / t.median, unit, (probe.work / t.high, probe.work / t.low))
    said = {"B/s": "GB/s", "flop/s": "GFLOP/s", "1/s": "G/s"}[unit]
    print(f"{name:12}{probe.work / t.median / 1e9:12.1f} {said:8}{t.median * 1e6:10.1f} µs")
    return t


def measure_all() -> None:
    gib = 2**30 // 16  # packs
    load = chaining("fma32", 384, 8 * sms, 128)
    for i in range(400):  # wakes the clocks
        load.launch(i)
    blocks = 4 * sms
    kernel = measure("copy_kernel", copying("kernel", gib), "B/s")
    driver = measure("copy_driver", copying("driver", gib), "B/s")
    wb.timing("copy", min(kernel, driver, key=lambda t: t.median), nbytes=2 * 16 * gib)
    measure("read", reading(gib, 1, blocks), "B/s")
    measure("write", writing(gib), "B/s")
    sweep = 16 * 512 * UNROLL * blocks  # bytes that all blocks read in one go
    l2_size = device.get_attribute(cuda.device_attribute.L2_CACHE_SIZE)
    wb.value("l2.size", l2_size, "B")
    cached = sweep * max(1, l2_size // 3 // sweep)
    measure("l2", reading(cached // 16, 128, blocks), "B/s")
    measure("shared", sharing(512, 2 * sms, 1024), "B/s")
    for kind in ("fma32", "fma64", "fma16", "imad"):
        measure(kind, chaining(kind, 384, 8 * sms, 128), "1/s" if kind == "imad" else "flop/s")
    measure("fma16_eight", chaining("fma16", 512, 8 * sms, 128, chains=8), "flop/s")
    measure("mma16", tensoring(4096, 2 * sms, 8), "flop/s")
    measure("h2d", linking(("up",), 2**28), "B/s", repeats=30)
    measure("d2h", linking(("down",), 2**28), "B/s", repeats=30)
    measure("both", linking(("up", "down"), 2**28), "B/s", repeats=30)
    measure("pageable", linking(("up",), 2**28, pinned=False), "B/s", repeats=30)
    measure_launches()
    measure_sizes()


def measure_launches() -> None:
    """Three times of one launch: on the device, of the host that enqueues it, and of a host that waits for it."""
    probe = launching(LAUNCHES)
    t = wb.time(probe.launch, repeats=30, poison=probe.poison, check=probe.check)
    device_times = np.array([t.low, t.median, t.high]) / LAUNCHES
    enqueued, waited = [], []
    for _ in range(30):
        probe.poison(0)
        start = time.perf_counter()
        probe.launch(0)
        enqueued.append((time.perf_counter() - start) / LAUNCHES)
        cuda.Context.synchronize()
    for _ in range(300):
        start = time.perf_counter()
        nothing.prepared_call((1, 1), (32, 1, 1), 0)
        cuda.Context.synchronize()
        waited.append(time.perf_counter() - start)
    host_times = {"enqueue": np.percentile(enqueued, [10, 50, 90]), "wait": np.percentile(waited, [10, 50, 90])}
    for name, (low, median, high) in {"launch": device_times, **host_times}.items():
        wb.value(f"{name}.time", median, "s", (low, high))
        print(f"{name:12}{median * 1e6:12.2f} µs")


def measure_sizes() -> None:
    """The copy over size: out of memory, the L2 overwritten before each launch; and once more out of the L2."""
    l2_words = device.get_attribute(cuda.device_attribute.L2_CACHE_SIZE) // 4
    scratch = cuda.mem_alloc(2 * 4 * l2_words)
    sizes = [2**k for k in range(10, 31)]
    times: dict[str, list[wb.Timing]] = {"copy": [], "copy.cached": []}
    for nbytes in sizes:
        cached = copying("kernel", nbytes // 16)

        def poison(i: int, cached: Probe = cached) -> None:
            cached.poison(i)
            cuda.memset_d32_async(scratch, i, 2 * l2_words)

        for name, probe in (("copy", replace(cached, poison=poison)), ("copy.cached", cached)):
            times[name].append(wb.time(probe.launch, repeats=30, poison=probe.poison, check=probe.check))
    for name, of_size in times.items():
        median, low, high = (
            [2 * n / getattr(t, which) for n, t in zip(sizes, of_size, strict=True)]
            for which in ("median", "high", "low")  # the longest time is the lowest rate
        )
        wb.series(name, sizes, median, x_unit="B", unit="B/s", low=low, high=high)
        print(f"\n{name + ', bytes':>20}{'µs':>10}{'GB/s':>10}")
        for n, t, rate in zip(sizes, of_size, median, strict=True):
            print(f"{n:20,}{t.median * 1e6:10.2f}{rate / 1e9:10.1f}")


def profile() -> None:
    for kind in KINDS:
        once(chaining(kind, 64 if GPU else 1, 8 * sms if GPU else 2, 128))
        print(f"{kind}: every bit right")


def main() -> None:
    print(f"device: {wb.device()['name']}, {sms} multiprocessors")
    check_all()
    if GPU:
        wb.needs(memory=5 * 2**30)
        print()
        measure_all()
    else:
        print("no GPU: nothing is measured")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile()
    else:
        main()
