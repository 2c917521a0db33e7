"""The order of additions: what each way of summing floats loses, and what care costs.

python order.py   errors at n = 2^20; on a GPU also errors and times at 2^28
"""

import math

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, GRID = 256, 2048  # the grid is a constant, so every device adds in the same order
U = 2.0**-24  # unit roundoff of float32: half the distance from 1 to the next float


# --8<-- [start:cpu]
def sequential(a: np.ndarray) -> np.float32:
    """Left to right: cumsum is bound to this order, and rounds after each addition."""
    return np.cumsum(a, dtype=np.float32)[-1]


def tree(a: np.ndarray) -> np.float32:
    """Halve until one is left. The length must be a power of two."""
    while a.size > 1:
        half = a.size // 2
        a = a[:half] + a[half:]
    return a[0]


def kahan(a: np.ndarray) -> np.float32:
    """Left to right, carrying what each addition lost."""
    s = c = np.float32(0)
    for x in a:
        y = x + c
        t = s + y
        c = y - (t - s)
        s = t
    return s + c


# --8<-- [end:cpu]


def exact(a: np.ndarray) -> float:
    """Rounded once: sums of 2^20 multiples of 2^-24 below 1 are exact in float64, and fsum is exact."""
    return math.fsum(float(part.sum(dtype=np.float64)) for part in np.array_split(a, -(-a.size // 2**20)))


class Device:
    """reduce_f32_plain, _kahan and _double on data that is already on the device."""

    def __init__(self) -> None:
        self.module = wb.module("reduction/order.cu")
        self.partial, self.out = cuda.mem_alloc(8 * GRID), cuda.mem_alloc(4)

    def poison(self) -> None:
        cuda.memset_d32_async(self.partial, 0xFFFFFFFF, 2 * GRID)
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, 1)

    def launch(self, kind: str, data: cuda.DeviceAllocation, n: int) -> None:
        reduce, finish = (self.module.get_function(name) for name in (f"reduce_f32_{kind}", f"finish_{kind}"))
        reduce(data, self.partial, np.int64(n), block=(BLOCK, 1, 1), grid=(GRID, 1))
        finish(self.partial, self.out, np.int32(GRID), block=(BLOCK, 1, 1), grid=(1, 1))

    def result(self) -> np.float32:
        got = np.empty(1, np.float32)
        cuda.memcpy_dtoh(got, self.out)
        return got[0]


def both_signs(n: int) -> tuple[np.ndarray, float, float]:
    """Numbers in [-1, 1) that mostly cancel: the array, its sum, and its condition number sum |a| / |sum a|.

    Multiples of 2^-23, so that float64 holds every partial sum of 2^28 of them exactly.
    """
    a = np.random.default_rng(1977).random(n, dtype=np.float32) * np.float32(2) - np.float32(1)
    reference = exact(a)
    return a, reference, exact(np.abs(a)) / abs(reference)


def row(who: str, got: np.float32, reference: float, depth: float, condition: float = 1.0) -> float:
    """Print one line; return the error relative to the sum. The bound is depth * U * sum of magnitudes."""
    error, bound = abs(float(got) - reference) / abs(reference), depth * condition
    if not error <= bound * U * 1.01:
        raise AssertionError(f"{who}: {got} is off by {error / U:.3g} U, more than {bound:.3g} U")
    print(f"{who:34}{got:16.4f}{error / U:14.2f}{bound:14,.0f}")
    return error


def main() -> None:
    rng = np.random.default_rng(1965)
    n = 2**20
    a = rng.random(n, dtype=np.float32)
    reference = exact(a)
    assert reference == math.fsum(a.tolist())
    print(f"n = {n:,}, uniform in [0, 1); errors and bounds in units of 2^-24 of the sum")
    print(f"{'':34}{'sum':>16}{'error':>14}{'bound':>14}")
    print(f"{'fsum (exact, rounded once)':34}{reference:16.4f}")
    wb.value("sequential.error", row("left to right, float32", sequential(a), reference, n - 1), "1")
    wb.value("tree.error", row("tree, float32", tree(a), reference, math.log2(n)), "1")
    row("NumPy's sum, float32", a.sum(), reference, 128 / 8 + 8 + math.log2(n / 128) + 1)
    wb.value("kahan.error", row("left to right, Kahan", kahan(a), reference, 3), "1")

    device, data = Device(), cuda.to_device(a)
    depth = 2 + n / (4 * GRID * BLOCK) + 8 + GRID / BLOCK + 8
    for kind, bound in (("plain", depth), ("kahan", 3), ("double", 1)):
        device.poison()
        device.launch(kind, data, n)
        got = device.result()
        row(f"device, {kind}", got, reference, bound)
        print(f"{'':34}{got.view(np.uint32):>16x}  the same bits on every device")

    b, reference, condition = both_signs(n)
    wb.value("signed_small.condition", condition, "1")
    print(f"\nn = {n:,}, uniform in [-1, 1); condition number {condition:,.0f}")
    print(f"{'fsum (exact, rounded once)':34}{reference:16.4f}")
    row("left to right, float32", sequential(b), reference, n - 1, condition)
    row("tree, float32", tree(b), reference, math.log2(n), condition)
    row("left to right, Kahan", kahan(b), reference, 3, condition)
    data = cuda.to_device(b)
    for kind, bound in (("plain", depth), ("kahan", 3), ("double", 1)):
        device.poison()
        device.launch(kind, data, n)
        error = row(f"device, {kind}", device.result(), reference, bound, condition)
        wb.value(f"signed_small_{kind}.units", error / U, "1")

    long = rng.random(2**26, dtype=np.float32)
    print(f"\nn = {long.size:,} left to right in float32: {sequential(long):,.0f}; exact: {exact(long):,.0f}")
    if wb.is_gpu():
        large(device, rng, 2**28)


def large(device: Device, rng: np.random.Generator, n: int) -> None:
    a = rng.random(n, dtype=np.float32)
    reference = exact(a)
    buffers = [cuda.to_device(a) for _ in range(2)]
    print(f"\nn = {n:,}\n{'':34}{'sum':>16}{'error':>14}{'bound':>14}")
    depth = 2 + n / (4 * GRID * BLOCK) + 8 + GRID / BLOCK + 8
    times = {}
    for kind, bound in (("plain", depth), ("kahan", 3), ("double", 1)):
        times[kind] = wb.time(
            lambda i, kind=kind: device.launch(kind, buffers[i % 2], n), poison=lambda i: device.poison()
        )
        wb.value(f"device_{kind}.error", row(f"device, {kind}", device.result(), reference, bound), "1")
        wb.timing(f"device_{kind}", times[kind], 4 * n)
    for buffer in buffers:
        buffer.free()
    b, reference, condition = both_signs(n)
    wb.value("signed.condition", condition, "1")
    print(f"\nn = {n:,}, uniform in [-1, 1); condition number {condition:,.0f}")
    data = cuda.to_device(b)
    for kind, bound in (("plain", depth), ("kahan", 3), ("double", 1)):
        device.poison()
        device.launch(kind, data, n)
        error = row(f"device, {kind}", device.result(), reference, bound, condition)
        wb.value(f"signed_{kind}.error", error, "1")
    print()
    for kind, t in times.items():
        print(f"device, {kind:10}{t.median * 1e6:9.1f} µs {4 * n / t.median / 1e9:7.0f} GB/s")


if __name__ == "__main__":
    main()
