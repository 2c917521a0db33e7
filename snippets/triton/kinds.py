"""tl.dot with operands of every type: which instruction it becomes, and how far its sums are off.

python kinds.py   on a GPU also time N = 4096 beside cuBLAS, where it has the type
"""

import re

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import warpbench as wb

wb.needs("9.0", packages="triton")
from _kinds import product_of  # noqa: E402
from _tools import get, loop_of, poison, put  # noqa: E402
from warppairs import pairs, share_of, spread  # noqa: E402

# --8<-- [start:cases]
CASES = {  # type, precision, depth, and how much a product of two operands, and each sum, may be off
    "fp16": ("fp16", "tf32", 64, 0, 2.0**-23),
    "bf16": ("bf16", "tf32", 64, 0, 2.0**-23),
    "tf32": ("fp32", "tf32", 32, 2.0**-9, 2.0**-23),
    "tf32x3": ("fp32", "tf32x3", 32, 2.0**-18, 2.0**-22),
    "ieee": ("fp32", "ieee", 16, 0, 2.0**-23),
    "e4m3": ("e4m3", "tf32", 128, 0, 2.0**-13),
}
# --8<-- [end:cases]
E4M3 = np.array([(8 + i % 8) * 2.0 ** (i // 8 - 10) if i >= 8 else i * 2.0**-9 for i in range(127)])  # its numbers >= 0
MAIN = re.compile(r"(wgmma\.mma_async|mma\.sync|fma\.rn)[\w.]*")


def encode(x: np.ndarray, kind: str) -> np.ndarray:
    """The nearest numbers that the type has, as bits where NumPy lacks it."""
    if kind == "bf16":
        bits = x.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if kind == "e4m3":
        place = np.searchsorted((E4M3[1:] + E4M3[:-1]) / 2, np.abs(x)).astype(np.uint8)
        return place | (np.signbit(x).astype(np.uint8) << 7)
    return x.astype({"fp16": np.float16, "fp32": np.float32}[kind])


def decode(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "e4m3":
        return np.concatenate([E4M3, [np.nan], -E4M3, [np.nan]])[bits]
    return bits.astype(np.float64)


class Case:
    """Random operands of one type on the device, and what their product must be."""

    def __init__(self, rng: np.random.Generator, name: str, m: int, n: int, k: int, every: bool = True) -> None:
        self.name, self.shape = name, (m, n, k)
        kind, self.precision, self.depth, operand, addition = CASES[name]
        a, b = (encode(rng.standard_normal(65536), kind)[rng.integers(0, 65536, (rows, k))] for rows in (m, n))
        special = kind if kind in ("bf16", "e4m3") else ""
        self.a, self.b, self.c = put(a, special), put(b, special), put(np.empty((m, n), np.float32))
        self.rows = np.arange(m) if every else np.sort(rng.choice(m, 48, replace=False))
        some_a, wide_b = decode(a[self.rows], kind), decode(b, kind)
        self.want, self.magnitude = some_a @ wide_b.T, np.abs(some_a) @ np.abs(wide_b).T
        each = (k // 32 + 1) if kind == "e4m3" else k  # e4m3: its sums are cut off once for 32 products
        self.bound = (operand + each * addition) * self.magnitude * 1.01

    def launch(self) -> None:
        m, n, k = self.shape
        side = 64 if self.name in ("ieee", "tf32x3") else 128
        grid = (-(-m // side) * -(-n // side),)
        self.made = product_of[grid](
            self.a, self.b, self.c, m, n, k, ROWS=side, COLUMNS=side, DEPTH=self.depth, GROUP=8,
            PRECISION=self.precision, num_warps=4, num_stages=3,
        )  # fmt: skip

    def reset(self) -> None:
        poison(self.c)

    def check(self) -> np.ndarray:
        """Errors as shares of the magnitudes added, if all are within the bound."""
        got = get(self.c)
        assert not np.isnan(got).any(), f"{self.name}: some elements are NaN or were not written"
        wb.check(got[self.rows], self.want, self.bound, self.name)
        return (got[self.rows] - self.want) / self.magnitude


if __name__ == "__main__":
    fresh, fixed = np.random.default_rng(), np.random.default_rng(1103)
    for name in CASES:
        case = Case(fresh, name, 80, 144, 208)
        case.reset()
        case.launch()
        case.check()
        case = Case(fixed, name, 128, 128, 256)
        case.reset()
        case.launch()
        error = case.check()
        loop = loop_of(case.made.asm["ptx"])
        [(main, count)] = [(one, n) for one, n in loop.items() if MAIN.fullmatch(one)][:1] or [("none", 0)]
        worst = f"2^{np.log2(np.abs(error).max()):.0f}"
        print(f"{name:7}{count:5} x {main:56} {worst}")
    if not wb.is_gpu():
        print("no GPU: nothing is timed")
        raise SystemExit
    import torch

    n = 4096
    for name in CASES:
        case, flop = Case(fresh, name, n, n, n, every=False), 2 * n**3
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        one = torch.ones((), device="cuda")
        type_of_c = {"fp16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.bfloat16}.get(name, torch.float32)
        out = torch.empty((n, n), dtype=type_of_c, device="cuda")

        def theirs() -> None:
            if name == "e4m3":  # noqa: B023
                torch._scaled_mm(case.a, case.b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=out)  # noqa: B023
            else:
                torch.mm(case.a, case.b.t(), out=out)  # noqa: B023

        case.reset()
        case.launch()
        case.check()
        ours, library = pairs(case.launch, theirs, seconds=0.5)
        case.check()
        share = share_of(ours, library)
        times = [wb.Timing(*spread(side.seconds), repeats=len(side.seconds)) for side in (ours, library)]
        wb.timing(f"{name}.n4096", times[0], flop=flop)
        wb.timing(f"{name}.n4096.cublas", times[1], flop=flop)
        wb.value(f"{name}.n4096.share", share[0], "%", share[1:])
        rates = [flop / t.median / 1e12 for t in times]
        print(f"{name:7}{rates[0]:9.1f} TFLOP/s, cuBLAS {rates[1]:9.1f}")
