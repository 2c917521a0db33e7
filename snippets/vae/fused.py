"""z = μ + σ ε and the KL term of each row: ten kernels, two, one; checked, counted in bytes, and timed beside a copy.

python fused.py             check, and count bytes; on a GPU also time rows of 128
python fused.py --profile   launch each kernel once for a profiler: 4096 rows of 128
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _kernels import threads, warps
from _vae import kl, reparameterise

# Kernels in their order: which arrays each reads, and which it writes. kl has a number per row, the others
# have one per element.
WAYS = {
    "ten": [
        ("halve", "logvar", "t"),
        ("exponential", "t", "t"),
        ("multiply", "t noise", "t"),
        ("add", "t mu", "z"),
        ("add_one", "logvar", "t"),
        ("square", "mu", "u"),
        ("subtract", "t u", "t"),
        ("exponential", "logvar", "u"),
        ("subtract", "t u", "t"),
        ("minus_half_sum", "t", "kl"),
    ],
    "two": [("reparameterise", "mu logvar noise", "z"), ("kl_rows", "mu logvar", "kl")],
    "fused": [("reparam_kl", "mu logvar noise", "z kl")],
}


# --8<-- [start:bytes]
def count_bytes(way: str, rows: int, d: int) -> int:
    """What the kernels of a way must read and write, if no cache keeps anything from one to the next."""
    arrays = " ".join(f"{reads} {writes}" for _, reads, writes in WAYS[way]).split()
    return 4 * sum(rows if name == "kl" else rows * d for name in arrays)


# --8<-- [end:bytes]


class Latent:
    """Random inputs on the device, and the kernels for rows of d numbers."""

    def __init__(self, rng: np.random.Generator, rows: int, d: int) -> None:
        self.rows, self.d, self.width = rows, d, 4 if d % 4 == 0 else 1
        self.module = wb.module("vae/latent.cu", WIDTH=self.width)
        self.inputs = {name: rng.standard_normal((rows, d), np.float32) for name in ("mu", "logvar", "noise")}
        self.at = {name: cuda.to_device(x) for name, x in self.inputs.items()}
        self.at |= {name: cuda.mem_alloc(4 * rows * d) for name in "ztu"} | {"kl": cuda.mem_alloc(4 * rows)}
        self.functions = {kernel: self.module.get_function(kernel) for way in WAYS.values() for kernel, _, _ in way}

    def poison(self, _: int = 0) -> None:
        for name in ("z", "kl"):
            cuda.memset_d32_async(self.at[name], 0xFFFFFFFF, self.rows if name == "kl" else self.rows * self.d)

    def launch(self, way: str) -> None:
        for kernel, reads, writes in WAYS[way]:
            arrays = [self.at[name] for name in f"{reads} {writes}".split()]
            by_row = "kl" in writes
            sizes = [self.rows, self.d] if by_row or way == "two" else [self.rows * self.d]
            sizes += [self.d] if way == "fused" else []  # the stride
            shape = warps(self.rows) if by_row else threads(-(-self.rows * self.d // self.width), 256)
            self.functions[kernel](*arrays, *map(np.int32, sizes), **shape)

    def check(self, what: str, most: int = 300) -> None:
        """Some rows, or all, against float64."""
        chosen = np.unique(np.linspace(0, self.rows - 1, min(most, self.rows)).astype(int))
        mu, logvar, noise = (self.inputs[name][chosen].astype(np.float64) for name in ("mu", "logvar", "noise"))
        sums = np.empty(self.rows, np.float32)
        cuda.memcpy_dtoh(sums, self.at["kl"])
        z = np.empty_like(mu, np.float32)
        for row, at in zip(z, chosen, strict=True):
            cuda.memcpy_dtoh(row, int(self.at["z"]) + 4 * self.d * int(at))
        size = 1 + np.abs(mu) + np.exp(0.5 * logvar) * np.abs(noise)
        wb.check(z, reparameterise(mu, logvar, noise), 1e-6 * size, f"{what}, z")
        terms = kl(mu, logvar)
        wb.check(sums[chosen], terms.sum(1), 1e-5 * (1 + mu**2 + np.exp(logvar) + np.abs(logvar)).sum(1), f"{what}, kl")


def measure(rng: np.random.Generator, rows: int, d: int) -> None:
    latent = Latent(rng, rows, d)
    useful = count_bytes("fused", rows, d)
    count, copied = rows * d, np.empty((rows, d), np.float32)
    times: dict[str, wb.Timing] = {}

    def check_copy(_: int) -> None:
        cuda.memcpy_dtoh(copied, latent.at["z"])
        wb.check(np.array_equal(copied, latent.inputs["mu"]), True, what="copy")

    times["copy"] = wb.time(
        lambda _: cuda.memcpy_dtod_async(latent.at["z"], latent.at["mu"], 4 * count),
        poison=latent.poison,
        check=check_copy,
    )
    for way in WAYS:
        times[way] = wb.time(
            lambda _, way=way: latent.launch(way), poison=latent.poison, check=lambda _, way=way: latent.check(way)
        )
    print(f"\n{rows} rows of {d}\n{'':6}{'µs':>9}{'GB/s of 16 B':>14}{'GB/s moved':>12}")
    for name, t in times.items():
        moved = 8 * count if name == "copy" else count_bytes(name, rows, d)
        wb.timing(name, t, 8 * count if name == "copy" else useful)
        rate = (8 * count if name == "copy" else useful) / t.median / 1e9
        print(f"{name:6}{t.median * 1e6:9.1f}{rate:14.0f}{moved / t.median / 1e9:12.0f}")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        one = Latent(generator, 4096, 128)
        for way in WAYS:
            one.poison()
            one.launch(way)
            one.check(way)
        print("4096 rows of 128: ten kernels, two, one: within the bound")
    else:
        for rows, d in ((1, 1), (5, 2), (7, 33), (9, 128), (3, 260)):
            small = Latent(generator, rows, d)
            for way in WAYS:
                small.poison()
                small.launch(way)
                small.check(way)
            print(f"{rows} rows of {d:3}: {', '.join(WAYS)} within the bound")
        for way, kernels in WAYS.items():
            total = count_bytes(way, 4096, 128) / 4 / 4096 / 128
            wb.value(f"{way}.arrays", total, "1")
            print(f"{way:5} {len(kernels):2} launches, {total:.3f} arrays read or written")
        if wb.is_gpu():
            wb.needs(memory=5 * 2**30)
            measure(generator, 2**20, 128)
        else:
            print("no GPU: nothing is timed")
