"""Independent chains of FMAs, and loops unrolled little, much and too much: check them, then measure on a GPU.

python chains.py             check; on a GPU also time chains over warps, unrolling, and spilled registers
python chains.py --profile   launch some of them once for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

CHAINS = {"chains_1": 1, "chains_2": 2, "chains_4": 4, "chains_8": 8, "chains_16": 16}
UNROLLED = {"rolled": 1, "unroll_2": 2, "unroll_4": 4, "unroll_8": 8, "unroll_64": 64}  # steps per pass, of 4 chains
WIDE = {"wide": 64, "squeezed": 64}
WIDTH = CHAINS | dict.fromkeys(UNROLLED, 4) | WIDE
FMAS = 1 << 16  # per thread

module = wb.module("unrolling/chains.cu")
kernels = {name: module.get_function(name) for name in WIDTH}
sms = cuda.Context.get_device().multiprocessor_count


# --8<-- [start:reference]
def reference(x: np.ndarray, steps: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """In float64, without a loop: `steps` times r = a r + b, and how far off a right float may be.

    Each FMA rounds once, by at most 2^-24 |r|; what it was off is multiplied by a in each later step.
    """
    goal = b / (1 - a)  # where the numbers tend to
    distance = x.astype(np.float64) - goal
    largest = abs(goal) + np.abs(distance)
    return goal + a**steps * distance, 2.0**-24 * largest / (1 - abs(a)) * (1 + 1e-6)


# --8<-- [end:reference]


class Run:
    """Buffers and arguments of one launch: `width` chains per thread."""

    def __init__(self, rng: np.random.Generator, grid: int, block: int, width: int, steps: int, a: float) -> None:
        self.grid, self.block, self.steps = grid, block, steps
        self.a, self.b = np.float32(a), np.float32(rng.uniform(0.5, 1))
        self.x = rng.uniform(-1, 1, grid * block * width).astype(np.float32)
        self.out = np.empty_like(self.x)
        self.device_x, self.device_out = cuda.to_device(self.x), cuda.mem_alloc(self.x.nbytes)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.device_out, 0x7FC00000, self.x.size)

    def launch(self, kernel, _: int = 0) -> None:
        arguments = self.device_x, self.device_out, np.int32(self.steps), self.a, self.b
        kernel(*arguments, block=(self.block, 1, 1), grid=(self.grid, 1))

    def check(self, name: str, shown: int = 4096) -> None:
        cuda.memcpy_dtoh(self.out, self.device_out)
        some = slice(0, shown) if self.x.size > 4 * shown else slice(None)  # each thread does the same
        want, bound = reference(self.x[some], self.steps, float(self.a), float(self.b))
        wb.check(self.out[some], want, bound, f"{name} after {self.steps} steps")
        if np.isnan(self.out).any():
            raise AssertionError(f"{name}: a part of the output was not written")


def check_all(rng: np.random.Generator) -> None:
    for steps in (0, 1, 7, 33, 131):
        for name, kernel in kernels.items():
            run = Run(rng, 3, 96, WIDTH[name], steps, rng.choice([-1, 1]) * rng.uniform(0.98, 0.995))
            run.poison()
            run.launch(kernel)
            run.check(name)
    print(f"{len(kernels)} kernels within the bound, after 0 to 131 steps")


def measure(rng: np.random.Generator, name: str, kernel, warps: int, width: int) -> wb.Timing:
    """Time `kernel` with so many warps on each quarter of an SM. FMAS steps in all for each thread."""
    block = min(256 if name in WIDE else 1024, 128 * warps)
    run = Run(rng, sms * 128 * warps // block, block, width, FMAS // width, 1 - 2.0**-12)

    def check(_: int) -> None:
        run.check(name)

    return wb.time(lambda _: run.launch(kernel), repeats=20, poison=run.poison, check=check)


def work(warps: int) -> int:
    """Flops of a launch of `measure`."""
    return 2 * FMAS * sms * 128 * warps


def chains(rng: np.random.Generator) -> None:
    warps = [1, 2, 3, 4, 6, 8, 16]
    for name, width in CHAINS.items():
        rates = []
        for w in warps:
            t = measure(rng, name, kernels[name], w, width)
            rates.append(work(w) / t.median)
            if w == 1:
                wb.timing(name, t, flop=work(1))
            if (name, w) == ("chains_1", 4):
                wb.timing("four_warps", t, flop=work(4))
        wb.series(f"{name}.warps", [float(w) for w in warps], rates, x_unit="count", unit="flop/s")
        print(f"{name:10}" + "".join(f"{rate / 1e12:7.2f}" for rate in rates), f"TFLOP/s at {warps} warps a quarter")


def unrolling(rng: np.random.Generator) -> None:
    lengths, rates = [], []
    for name, steps in UNROLLED.items():
        t = measure(rng, name, kernels[name], 8, 4)
        wb.timing(name, t, flop=work(8))
        lengths.append(4.0 * steps)
        rates.append(work(8) / t.median)
    for steps in (256, 512, 1024, 2048):
        kernel = wb.module("unrolling/chains.cu", LONG_UNROLL=steps).get_function("unroll_long")
        t = measure(rng, f"unroll_{steps}", kernel, 8, 4)
        wb.timing(f"unroll_{steps}", t, flop=work(8))
        lengths.append(4.0 * steps)
        rates.append(work(8) / t.median)
    wb.series("unroll.sweep", lengths, rates, x_unit="count", unit="flop/s")
    for length, rate in zip(lengths, rates, strict=True):
        print(f"{length:6.0f} FMAs per pass: {rate / 1e12:6.2f} TFLOP/s")


def spilled(rng: np.random.Generator) -> None:
    """Two blocks of 256 threads on each SM in either case, so that only the registers differ."""
    for name in WIDE:
        t = measure(rng, name, kernels[name], 4, 64)
        wb.timing(name, t, flop=work(4))
        kernel = kernels[name]
        print(
            f"{name:9} {kernel.num_regs} registers, {kernel.local_size_bytes} bytes of stack: {t.median * 1e3:.3f} ms"
        )


def latency() -> None:
    out, cycles = cuda.to_device(np.ones(1, np.float32)), cuda.mem_alloc(8)
    got = np.zeros(1, np.int64)
    for _ in range(3):  # the first run also fetches the code
        module.get_function("fma_latency")(out, cycles, np.float32(0.5), np.float32(1), block=(1, 1, 1), grid=(1, 1))
        cuda.memcpy_dtoh(got, cycles)
    wb.value("fma.latency", got[0] / 1024, "1")
    print(f"{got[0] / 1024:.2f} cycles from one FMA to the next that needs its result")


def profile(rng: np.random.Generator) -> None:
    gpu = wb.is_gpu()
    for name in ("chains_1", "chains_4", "rolled", "unroll_8", "wide", "squeezed"):
        warps = 1 if name.startswith("chains") else 4
        width, block = WIDTH[name], min(256, 128 * warps)
        run = Run(
            rng,
            (sms if gpu else 1) * 128 * warps // block,
            block,
            width,
            (FMAS if gpu else 1024) // width,
            1 - 2.0**-12,
        )
        run.poison()
        run.launch(kernels[name])
        run.check(name)
        print(f"{name}: within its bound")
    if gpu:
        run = Run(rng, 2 * sms, 256, 4, FMAS // 4, 1 - 2.0**-12)
        run.launch(wb.module("unrolling/chains.cu", LONG_UNROLL=2048).get_function("unroll_long"))
        run.check("unroll_long")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        check_all(generator)
        if wb.is_gpu():
            latency()
            chains(generator)
            unrolling(generator)
            spilled(generator)
        else:
            print("no GPU: nothing is timed")
